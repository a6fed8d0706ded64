// Vocabularies, texts, and sources made of sources.
#include "runtime/data/text.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/data/combine.h"
#include "runtime/data/synthetic.h"
#include "runtime/plan/fault.h"
#include "tests/unit/runtime/folder_testing.h"

namespace dtl::data {
namespace {

using test::TemporaryFolder;
using Op = RowExpression::Op;

Vocabulary counted(TextUnit unit, const std::string& text, int64_t keep = 0) {
  VocabularyCounter counter(unit);
  counter.add(text);
  return counter.finish(keep);
}

std::vector<int32_t> numbers(const Vocabulary& vocabulary, std::string_view text, int64_t most = 100) {
  std::vector<int32_t> made(100, -1);
  made.resize(static_cast<size_t>(vocabulary.encode(text, most, made.data())));
  return made;
}

template <class T>
std::vector<T> column(const Source& source, size_t field) {
  std::vector<int64_t> rows(static_cast<size_t>(source.examples()));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<T> values(rows.size() * static_cast<size_t>(source.fields()[field].elements()));
  source.gather(field, rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

int code_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Fault& fault) {
    return fault.code();
  }
  return 0;
}

std::shared_ptr<const Source> integers(int64_t examples, const std::string& name = "i") {
  return synthetic(examples, 1, {{name, Generator::integers, 0, 1000, {}}});
}

TEST_CASE("vocabulary: words by count, then by text") {
  const Vocabulary words = counted(TextUnit::words, "The cat, the DOG; the cat's 3 dogs - dog! Ärger ärger");
  CHECK(words.entries() == std::vector<std::string>{"the", "dog", "ärger", "3", "cat", "cat's", "dogs"});
  CHECK(words.size() == 9);
  CHECK(numbers(words, "Dog the?? unheard-of") == std::vector<int32_t>{3, 2, 1, 1});
  CHECK(numbers(words, "the dog the dog", 3) == std::vector<int32_t>{2, 3, 2});
  CHECK(numbers(words, "").empty());
  CHECK(numbers(words, " ... ").empty());
  const Vocabulary kept = counted(TextUnit::words, "a a a b b c", 4);
  CHECK(kept.entries() == std::vector<std::string>{"a", "b"});
  CHECK(kept.size() == 4);
}

TEST_CASE("vocabulary: what parts words, and lower case beyond ASCII") {
  CHECK(counted(TextUnit::words, "ΑΒΓ αβγ ПРИВЕТ Привет Ёж ёж ŁÓDŹ łódź").entries() ==
        std::vector<std::string>{"łódź", "αβγ", "привет", "ёж"});
  CHECK(numbers(counted(TextUnit::words, "don’t"), "don't ’don't'") == std::vector<int32_t>{2, 2});
  CHECK(counted(TextUnit::words, "a—b “c” d…e 5×5 😀f").size() == 2 + 7);
  CHECK(counted(TextUnit::words, "日本語、英語。").entries() == std::vector<std::string>{"日本語", "英語"});
}

TEST_CASE("vocabulary: characters are code points") {
  const Vocabulary characters = counted(TextUnit::characters, "aäa€\n€a");
  CHECK(characters.entries() == std::vector<std::string>{"a", "€", "\n", "ä"});
  CHECK(numbers(characters, "€äz\n") == std::vector<int32_t>{3, 5, 1, 4});
  CHECK(characters.entry(0).empty());
  CHECK(characters.entry(1) == "\xef\xbf\xbd");
  CHECK(characters.entry(3) == "€");
}

TEST_CASE("vocabulary: categories are whole texts in order") {
  for (const TextUnit unit : {TextUnit::categories, TextUnit::open_categories}) {
    VocabularyCounter counter(unit);
    for (const char* text : {"very good", "very bad", "", "Very bad", "very good"}) counter.add(text);
    const Vocabulary kinds = counter.finish(0);
    CHECK(kinds.entries() == std::vector<std::string>{"Very bad", "very bad", "very good"});
    const int32_t first = unit == TextUnit::categories ? 0 : 1;
    CHECK(kinds.size() == first + 3);
    for (const auto& [text, number] : {std::pair("very good", first + 2), {"Very bad", first}, {"very", first - 1}, {"", first - 1}}) {
      int32_t found = -7;
      CHECK(kinds.encode(text, 5, &found) == 1);
      CHECK(found == number);
    }
    CHECK(kinds.entry(first + 1) == "very bad");
    const auto back = Vocabulary::from_text(kinds.to_text());
    REQUIRE(back);
    CHECK(back->unit() == unit);
    CHECK(back->entries() == kinds.entries());
  }
}

TEST_CASE("vocabulary: to text and back") {
  for (const TextUnit unit : {TextUnit::words, TextUnit::characters}) {
    const Vocabulary vocabulary = counted(unit, "line\nwith\r\\n and ä €");
    const auto back = Vocabulary::from_text(vocabulary.to_text());
    REQUIRE(back);
    CHECK(back->unit() == unit);
    CHECK(back->entries() == vocabulary.entries());
  }
  CHECK(Vocabulary::from_text("dtl vocabulary 1 words\n")->size() == 2);
  for (const char* wrong : {"", "words\n", "dtl vocabulary 1 words", "dtl vocabulary 1 words\na\na\n", "dtl vocabulary 1 words\n\n",
                            "dtl vocabulary 1 words\n\\x\n", "dtl vocabulary 1 words\n\xff\n"}) {
    INFO(wrong);
    CHECK(Vocabulary::from_text(wrong) == nullptr);
  }
}

TEST_CASE("text: parts by percent meet at characters") {
  const TemporaryFolder folder("text");
  std::string text;
  for (int i = 0; i < 333; ++i) text += i % 3 ? "€" : "xy";
  const std::string path = folder.plain("t.txt", text);
  for (const double at : {0.0, 0.1, 0.333, 0.5, 0.9, 0.999, 1.0}) {
    const auto before = read_text(path, 0, at, {}), after = read_text(path, at, 1, {});
    CHECK(std::string(before->text(0, 0)) + std::string(after->text(0, 0)) == text);
    CHECK(first_not_utf8(before->text(0, 0)) == -1);
  }
  CHECK(read_text(folder.plain("bom.txt", "\xef\xbb\xbfhello"), 0, 1, {})->text(0, 0) == "hello");
  CHECK(read_text(folder.zipped("z.txt.gz", text), 0, 1, {})->text(0, 0) == text);
  CHECK(read_text(folder.plain("empty.txt", ""), 0, 1, {})->text(0, 0).empty());
  CHECK(code_of([&] { read_text(folder.plain("bad.txt", "ok\n\xff\xfe"), 0, 1, {}); }) == 5013);
  CHECK(code_of([&] { read_text(folder.path("none"), 0, 1, {}); }) == 5001);
}

TEST_CASE("text: encoded and cut into windows") {
  const TemporaryFolder folder("text");
  const auto text = read_text(folder.plain("t.txt", "abcabcabc"), 0, 1, {});
  const Vocabulary vocabulary = counted(TextUnit::characters, "abc");
  const auto tokens = encode_all(*text, vocabulary, {}, "key");
  CHECK(tokens->examples() == 9);
  const auto cut = windows(tokens, 4, 3);
  REQUIRE(cut->examples() == 2);
  CHECK(cut->fields()[0].shape == std::vector<int64_t>{4});
  CHECK(column<int32_t>(*cut, 0) == std::vector<int32_t>{2, 3, 4, 2, 2, 3, 4, 2});
  CHECK(windows(tokens, 9, 1)->examples() == 1);
  CHECK(windows(tokens, 10, 1)->examples() == 0);
  CHECK(windows(tokens, 300, 1)->examples() == 0);
  CHECK(windows(windows(tokens, 2, 1), 3, 1)->fields()[0].shape == std::vector<int64_t>{3, 2});
  CHECK(code_of([&] { windows(text, 2, 1); }) == 5116);
  CHECK(code_of([&] { encode_all(*tokens, vocabulary, {}, "key"); }) == 5116);
}

TEST_CASE("text: vocabularies of files are counted once") {
  const TemporaryFolder folder("text");
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "w" + std::to_string(i % 9000) + " ";
  const std::string path = folder.plain("t.txt", text), table = folder.plain("t.csv", "a,b\nx y,1\ny,2\n");
  const Cache cache(folder.path("cache"));
  const auto first = count_vocabulary(path, std::nullopt, {}, TextUnit::words, 5000, cache),
             again = count_vocabulary(path, std::nullopt, {}, TextUnit::words, 5000, cache);
  CHECK(first->size() == 5000);
  CHECK(first->entries() == again->entries());
  CHECK(count_vocabulary(table, "a", {}, TextUnit::words, 0, cache)->entries() == std::vector<std::string>{"y", "x"});
  CHECK(code_of([&] { count_vocabulary(table, "c", {}, TextUnit::words, 0, cache); }) == 5012);
}

TEST_CASE("text: what example makes of texts") {
  const TemporaryFolder folder("text");
  const auto table = read_csv(folder.plain("t.csv", "t,x\nb a a,1\n,2\nspam,3\n"), {}, {});
  const auto vocabulary = std::make_shared<const Vocabulary>(counted(TextUnit::words, "a a b"));
  const auto both = with_derived(table, {}, {{"n", "t", vocabulary, 2, {}}, {"is_spam", "t", nullptr, 0, "spam"}}, {}, "key");
  REQUIRE(both->fields().size() == 4);
  CHECK(column<int32_t>(*both, 2) == std::vector<int32_t>{3, 2, 0, 0, 1, 0});
  CHECK(column<uint8_t>(*both, 3) == std::vector<uint8_t>{0, 0, 1});
  CHECK(column<int64_t>(*both, 1) == std::vector<int64_t>{1, 2, 3});
  VocabularyCounter counter(TextUnit::categories);
  for (int64_t row = 0; row < 2; ++row) counter.add(table->text(0, row));
  const auto one = with_derived(table, {}, {{"n", "t", std::make_shared<const Vocabulary>(counter.finish(0)), 1, {}}}, {}, "key");
  CHECK(one->fields()[2].shape.empty());
  CHECK(column<int32_t>(*one, 2) == std::vector<int32_t>{0, -1, -1});
}

TEST_CASE("where: rows by numbers and texts") {
  const TemporaryFolder folder("text");
  const auto table = read_csv(folder.plain("t.csv", "t,x\nab,1\nba,2\nä,3\n"), {}, {});
  const RowExpression t{Op::field, 0, 0, {}, {}}, x{Op::field, 1, 0, {}, {}};
  const auto number = [](double value) { return RowExpression{Op::number, 0, value, {}, {}}; };
  const auto text = [](const char* value) { return RowExpression{Op::text, 0, 0, value, {}}; };
  const auto make = [](Op op, std::vector<RowExpression> items) { return RowExpression{op, 0, 0, {}, std::move(items)}; };
  const auto kept = [&](const RowExpression& condition) { return column<int64_t>(*where(table, condition), 1); };
  CHECK(kept(make(Op::less, {number(1), x})) == std::vector<int64_t>{2, 3});
  CHECK(kept(make(Op::equal, {t, text("ba")})) == std::vector<int64_t>{2});
  CHECK(kept(make(Op::less, {t, text("b")})) == std::vector<int64_t>{1});
  CHECK(kept(make(Op::starts_with, {t, text("b")})) == std::vector<int64_t>{2});
  CHECK(kept(make(Op::ends_with, {t, text("b")})) == std::vector<int64_t>{1});
  CHECK(kept(make(Op::contains, {t, text("a")})) == std::vector<int64_t>{1, 2});
  CHECK(kept(make(Op::equal, {make(Op::length, {t}), number(1)})) == std::vector<int64_t>{3});
  CHECK(kept(make(Op::logical_not, {make(Op::logical_or, {make(Op::equal, {x, number(1)}), make(Op::equal, {x, number(3)})})})) ==
        std::vector<int64_t>{2});
  CHECK(kept(make(Op::equal, {make(Op::divide, {make(Op::add, {x, number(3)}), number(2)}),
                              make(Op::negate, {make(Op::subtract, {number(0), number(2)})})})) == std::vector<int64_t>{1});
  CHECK(where(table, make(Op::equal, {x, number(3)}))->place(0) == "`t.csv`, row 3");
}

TEST_CASE("shuffle, concat, zip and cache map rows to rows") {
  const auto source = integers(500);
  const auto all = column<int64_t>(*source, 0);
  auto mixed = column<int64_t>(*shuffled(source, 7), 0);
  CHECK(mixed != all);
  CHECK(mixed == column<int64_t>(*shuffled(source, 7), 0));
  CHECK(mixed != column<int64_t>(*shuffled(source, 8), 0));
  std::sort(mixed.begin(), mixed.end());
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end());
  CHECK(mixed == sorted);

  const auto joined = concat({take(source, 200), skip(source, 200), take(source, 0)});
  CHECK(joined->examples() == 500);
  CHECK(column<int64_t>(*joined, 0) == all);
  CHECK(column<int64_t>(*concat({take(source, 0), shuffled(source, 7), source}), 0).size() == 1000);
  CHECK(code_of([&] { concat({source, integers(3, "j")}); }) == 5115);

  const auto pairs = zip({source, integers(500, "j")});
  CHECK(column<int64_t>(*pairs, 0) == all);
  CHECK(pairs->fields()[1].name == "j");
  CHECK(code_of([&] { zip({source, source}); }) == 5024);
  CHECK(code_of([&] { zip({source, integers(499, "j")}); }) == 5009);

  const TemporaryFolder folder("stored");
  const Cache cache(folder.path());
  CHECK(column<int64_t>(*stored(*joined, cache, "key"), 0) == all);
  CHECK(column<int64_t>(*stored(*joined, cache, "key"), 0) == all);
}

}  // namespace
}  // namespace dtl::data
