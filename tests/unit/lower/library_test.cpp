// Every declaration of the standard library says what it does and gives an example; every example is checked, and run where it tells
// its result.
#include "compiler/driver/library.h"

#include <set>

#include "compiler/driver/embedded.h"
#include "compiler/sema/builtins.h"
#include "compiler/sema/settings.h"
#include "compiler/sema/source_reader.h"
#include "compiler/source/foreign_names.h"
#include "compiler/syntax/parse.h"
#include "program_testing.h"

using namespace dtl;
using namespace dtl::testing;
using Catch::Detail::Approx;

namespace {

const std::string kData = R"(dataset Points {
  train = synthetic(4, seed = 1, fields = {
    x = normal([8]), target = normal([8]), label = integers(0, 8, []), image = normal([28, 28, 3])
    sequence = normal([16, 32]), memory = normal([20, 32]), tokens = integers(0, 100, [20])
  })
  batch = 4
}
)";

const std::string kSignature =
    "(x: f32[batch, 8], target: f32[batch, 8], label: i64[batch], image: f32[batch, 28, 28, 3], sequence: f32[batch, 16, 32],\n"
    "  memory: f32[batch, 20, 32], tokens: i64[batch, 20])";

bool is_setting(const std::string& code, std::string* name) {
  for (const char* setting : {"optimizer", "strategy", "loss", "metrics", "precision"}) {
    if (!code.starts_with(std::string(setting) + " = ")) continue;
    *name = setting;
    return true;
  }
  return false;
}

bool is_type(const std::string& result) { return result.find('[') != std::string::npos; }

/// A whole program that uses the example as its kind is used.
std::string program_of(const driver::LibraryExample& example) {
  std::map<std::string, std::string> settings = {
      {"loss", "mean(sparse_cross_entropy(prediction, label))"}, {"optimizer", "sgd(1.0)"}, {"strategy", "one_device()"}};
  std::string name, body, result = "x |> dense(8)", type = "f32[batch, 8]";
  if (is_setting(example.code, &name)) {
    settings[name] = example.code.substr(name.size() + 3);
  } else if (example.code.starts_with("weight ")) {
    body = "  " + example.code + "\n";
    result = "(x |> dense(8)) + sum(w)";
  } else if (is_type(example.result)) {
    body = "  let example: " + example.result + " = " + example.code + "\n";
  } else {
    body = "  let example = " + example.code + "\n";
    if (!example.result.empty()) {
      settings["loss"] = "prediction";
      type = "f32[]";
      result = "example + 0 * sum(dense(8)(x))";
    }
  }
  std::string text =
      kData + "model M " + kSignature + " -> " + type + " {\n" + body + "  " + result + "\n}\ntrain {\n  model = M\n  data = Points\n";
  for (const auto& [setting, value] : settings) text += "  " + setting + " = " + value + "\n";
  return text + "  epochs = 1\n}\n";
}

double value_of(const std::string& program) {
  Run run(lowered(program));
  Run::Fields fields;
  const graph::Graph& graph = run.graph();
  for (const graph::Port& port : graph[*graph.find_function("train_step")].params) {
    if (port.role != graph::Role::input) continue;
    const types::TensorType& type = graph[port.value].type;
    std::vector<int64_t> shape{2};
    for (size_t i = 1; i < type.rank(); ++i) shape.push_back(*type.dims[i].constant());
    fields[port.path] = noise(shape, 1);
    fields[port.path].dtype = type.dtype;
    if (is_integer(type.dtype)) std::fill(fields[port.path].data.begin(), fields[port.path].data.end(), 1);
  }
  run.train(fields);
  return run.report("train/loss");
}

/// What a program that the library cannot run yet must say.
bool is_refused(const std::string& diagnostics) { return diagnostics.find("not supported yet") != std::string::npos; }

}  // namespace

TEST_CASE("the reference of a built-in function has its parameters") {
  for (const sema::BuiltinDoc& doc : sema::builtin_docs()) {
    INFO(doc.name);
    const sema::Builtin* builtin = sema::find_builtin(doc.name);
    REQUIRE(builtin);
    // `(x: any[...], axis: axes = none) -> …`: what stands before a colon, and whether it has a default.
    const std::string signature(doc.signature.substr(1, doc.signature.find(") ->") - 1));
    std::vector<std::string> names;
    int depth = 0;
    std::string part;
    const auto take = [&] {
      const std::string name = part.substr(0, part.find(':'));
      CHECK(builtin->optional(name) == (part.find(" = ") != std::string::npos));
      names.push_back(name);
      part.clear();
    };
    for (const char c : signature) {
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      if (c == ',' && depth == 0) {
        take();
      } else if (c != ' ' || !part.empty()) {
        part += c;
      }
    }
    take();
    CHECK(names == builtin->parameter_names());
  }
  for (const char* name : {"concat", "expand", "sum", "reshape", "tensor", "select", "cast", "gather"}) {
    const auto& docs = sema::builtin_docs();
    CHECK(std::any_of(docs.begin(), docs.end(), [&](const sema::BuiltinDoc& doc) { return doc.name == name; }));
  }
}

TEST_CASE("what a foreign name leads to is a name of the language or the library") {
  std::set<std::string> known = {"import", "param", "fn", "layer", "model", "optimizer", "strategy", "dataset", "train"};
  const auto add = [&](const std::vector<std::string>& names) { known.insert(names.begin(), names.end()); };
  for (const std::string& name : sema::builtin_names()) {
    known.insert(name);
    if (const sema::Builtin* builtin = sema::find_builtin(name)) add(builtin->parameter_names());
  }
  for (const driver::EmbeddedFile& file : driver::stdlib_files()) {
    source::SourceSet sources;
    source::Sink sink;
    const auto ast = syntax::parse(sources, sources.add(std::string(file.name), std::string(file.text)), sink);
    REQUIRE(ast);
    for (const syntax::Decl* decl : ast->decls) {
      known.insert(decl->name.text);
      for (const auto& list : {decl->hyper, decl->parameters}) {
        for (const syntax::Parameter& parameter : list) known.insert(parameter.name.text);
      }
    }
  }
  add(sema::train_fields());
  add(sema::dataset_fields());
  for (const std::string& field : sema::train_fields()) add(sema::record_fields(field));
  size_t rows = 0;
  for (const auto& [theirs, ours] : source::foreign_names()) {
    INFO(theirs << " = " << ours);
    CHECK(source::plain_spelling(theirs) == theirs);
    CHECK(known.contains(std::string(ours)));
    ++rows;
  }
  CHECK(rows > 100);
  CHECK(source::counterparts("Sparse_Categorical_Crossentropy") == std::vector<std::string_view>{"sparse_cross_entropy"});
  CHECK(source::counterpart("num_embeddings", {"units", "size"}) == "size");
  CHECK(!source::counterpart("num_embeddings", {"units"}));
}

TEST_CASE("every declaration of the library is documented, with an example that is true") {
  for (const driver::LibraryEntry& entry : driver::library_entries()) {
    if (entry.helper) {
      INFO(entry.file << ": a helper has no examples: " << entry.name);
      CHECK(entry.examples.empty());
      continue;
    }
    INFO(entry.file << ": " << entry.name << " needs a `///` that says what it does and ends with a line /// Example: `…`; helpers begin\n"
                    << "with \"For the library:\" (see compiler/driver/library.h)");
    CHECK(!entry.text.empty());
    CHECK(!entry.examples.empty());
    for (const driver::LibraryExample& example : entry.examples) {
      const std::string program = program_of(example);
      const Checked checked = check(program);
      INFO(example.code << "\n" << checked.diagnostics);
      CHECK(example.code.find(entry.name) != std::string::npos);
      if (is_refused(checked.diagnostics) && entry.file == "strategies.dtl") continue;
      CHECK(checked.program);
      if (!checked.program || example.result.empty() || is_type(example.result)) continue;
      CHECK(value_of(program) == Approx(std::stod(example.result)).margin(1e-9).epsilon(1e-7));
    }
  }
}

TEST_CASE("library: every source and vocabulary is described once") {
  std::vector<std::string> described, known = sema::source_names();
  for (const sema::BuiltinDoc& doc : sema::source_docs()) {
    CHECK(!doc.text.empty());
    described.emplace_back(doc.name);
  }
  for (const char* name : {"words", "characters", "categories"}) {
    CHECK(sema::is_vocabulary_name(name));
    known.emplace_back(name);
  }
  std::sort(described.begin(), described.end());
  std::sort(known.begin(), known.end());
  CHECK(described == known);
}
