// Values of the arguments of sources, each into its stage. Each gives false after a report.
#pragma once

#include "compiler/sema/evaluate.h"

namespace dtl::sema {

class SourceValues {
 public:
  SourceValues(Evaluator& evaluator, Scope* scope) : evaluator_(evaluator), reporter_(evaluator.reporter()), scope_(scope) {}

  bool integer(const Arg& arg, const char* key, int64_t least, SourceStage& stage);
  bool boolean(const Arg& arg, const char* key, SourceStage& stage);
  bool number(const Arg& arg, const char* key, SourceStage& stage);
  bool text(const Arg& arg, const char* key, SourceStage& stage);
  /// One ASCII character between the cells of a table.
  bool delimiter(const Arg& arg, SourceStage& stage);
  /// `fill = 0`, and by column `fill = { age = 40 }`: the numbers `fill.age`.
  bool fill(const Arg& arg, SourceStage& stage);
  bool texts(const Arg& arg, const char* key, SourceStage& stage);
  /// `take(1000)`, `take(90%)`.
  bool count(const Arg& arg, SourceStage& stage);
  /// `range = 0%..90%`.
  bool range(const Arg& arg, SourceStage& stage);
  /// `fields = { x = normal([32]), y = integers(0, 10, []) }`: generators are words of this place.
  bool generators(const syntax::Expr& expr, SourceStage& stage);
  /// `[{ x = [1.0, 2.0], y = 3 }, …]`.
  bool records(const Arg& arg, SourceStage& stage);

 private:
  bool wrong(const Arg& arg, const std::string& what, const std::string& wanted, const Value& value);
  bool given(const std::vector<const Arg*>& slots, size_t i, const std::string& callee, const char* name, source::Range range);
  bool cell(const Value& value, source::Range range, RecordField& field, bool first, std::vector<int64_t>& shape, size_t depth);

  Evaluator& evaluator_;
  Reporter& reporter_;
  Scope* scope_;
};

}  // namespace dtl::sema
