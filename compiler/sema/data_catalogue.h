// What sema knows of data: opened by the driver before checking, so that sizes and fields are known at compile time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"
#include "runtime/plan/dtype.h"

namespace dtl::sema {

struct SourceSpec;

/// An expression over the fields of a row, for the data's side: `row.split == "train" and row.year > 2000`.
struct RowExpr {
  std::string op;  ///< `field`, `number`, `text`, or an operator or function of data::RowExpression
  std::string text;
  double number = 0;
  std::vector<RowExpr> items;
};

/// `words(of = "messages.csv", column = "text", keep = 20_000)`.
struct VocabularySpec {
  std::string name;  ///< `Messages.vocabulary`
  std::string unit;  ///< `characters`, `words`, `categories`, `open_categories`
  std::string file;
  source::Range file_range;
  std::optional<std::string> column;
  int64_t keep = 0;         ///< 0: all
  int64_t skip_limit = -1;  ///< faulty rows that are left out
  char delimiter = ',';
  bool header = true;
  std::vector<std::string> missing;
  source::Range range;

  /// Whole texts, each of one number.
  bool of_categories() const { return unit == "categories" || unit == "open_categories"; }
};

/// A column that a program reads, and as what: an element type, `text`, or empty where the whole file decides.
struct ColumnWish {
  std::string name, type;
};

/// A field of `records([…])`, for all of its rows.
struct RecordField {
  std::string name, type;  ///< an element type or `text`
  std::vector<int64_t> shape;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

/// A stage of a source expression, evaluated: `idx(images = "…", labels = "…") |> take(55_000)`.
struct SourceStage {
  std::string function;  ///< `idx`, `synthetic`, `take`, `skip`, `csv`, …
  source::Range range;
  std::map<std::string, std::string> strings;
  std::map<std::string, source::Range> written;  ///< where each of the strings is
  std::map<std::string, int64_t> integers;
  std::map<std::string, double> numbers;
  std::map<std::string, std::vector<std::string>> lists;
  /// synthetic: field name → generator (`normal`, `uniform`, `integers`), bounds and per-example shape.
  struct Field {
    std::string name, generator;
    double low = 0, high = 1;
    std::vector<int64_t> shape;
  };
  std::vector<Field> fields;
  std::optional<std::vector<ColumnWish>> columns;  ///< csv: nothing: all
  std::optional<RowExpr> predicate;                ///< where
  std::optional<VocabularySpec> vocabulary;        ///< encode
  std::vector<SourceSpec> sources;                 ///< concat, zip
  std::vector<RecordField> records;
  int64_t rows = 0;  ///< of records
};

struct SourceSpec {
  std::vector<SourceStage> stages;  ///< first the source, then what it is piped through
};

struct FieldInfo {
  std::string name;  ///< empty where the source does not name its fields (idx)
  DType dtype;
  std::vector<int64_t> shape;  ///< of one example
  bool text = false;           ///< of any length: for `encode` and the data's side
  std::string why = {};        ///< why it is text though it holds numbers; empty: no doubt
};

struct SplitInfo {
  int64_t examples = 0;
  std::vector<FieldInfo> fields;
  std::vector<std::string> unread = {};    ///< further fields of the file, which nobody asked for
  std::vector<std::string> headings = {};  ///< of the first columns of a table, as they stand in the file
};

/// What the data's side makes of a field of texts for `example`: numbers of words, or whether it is a certain text.
struct DerivedField {
  FieldInfo field;
  std::string of;
  std::optional<VocabularySpec> vocabulary;
  std::string equals;
  source::Range range = {};
};

/// All numbers of a field are used, as they are, as indices of something of `size`, or as shares, from 0 to 1.
struct IndexCheck {
  std::string field;
  int64_t size = 0;
  source::Range range;
  bool share = false;
  std::string text, categories;  ///< it is made of this field of texts by these categories: −1 stands for a text that is none of them
};

/// Opens data on behalf of sema. Each reports 5xxx diagnostics itself (at the stage's range) and returns nothing on failure.
struct DataCatalogue {
  std::function<std::optional<SplitInfo>(const SourceSpec&, source::Sink&)> open;
  /// How many numbers a vocabulary has.
  std::function<std::optional<int64_t>(const VocabularySpec&, source::Sink&)> vocabulary;
};

}  // namespace dtl::sema
