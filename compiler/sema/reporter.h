// Reporter: puts a diagnostic where the user can act. What happens inside the library is reported at the user's call.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"

namespace dtl::sema {

class Reporter {
 public:
  explicit Reporter(source::Sink& sink) : sink_(&sink) {}

  /// Ranges of this file belong to the standard library.
  void add_library(source::FileId file) { library_.push_back(file.index); }
  bool in_library(source::Range range) const;

  /// One call from user or library code, for as long as it is on the stack.
  class Call {
   public:
    Call(Reporter& reporter, std::string name, source::Range range) : reporter_(&reporter) {
      reporter.calls_.push_back({std::move(name), range});
    }
    ~Call() { reporter_->calls_.pop_back(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Reporter* reporter_;
  };

  template <class... Args>
  source::Reported report(source::Range range, const source::Diag<Args...>& diag, const std::type_identity_t<Args>&... args) {
    const Place place = user_place(range);
    source::Reported reported = sink_->report(place.range, diag, args...);
    if (diag.severity == source::Severity::error) ++errors_;
    if (!place.callee.empty() && fresh(diag.code, place.range, range)) reported.note(range, "inside `" + place.callee + "`, here");
    return reported;
  }
  /// Names are looked up by two walks, bodies are instantiated again and again; a mistake of one place is told once. False
  /// where it was told before; an error counts all the same.
  template <class... Args>
  bool first(const source::Diag<Args...>& diag, source::Range range) {
    if (fresh(diag.code, range, {})) return true;
    if (diag.severity == source::Severity::error) ++errors_;
    return false;
  }
  /// Where the user can look for what is made at `range`: the same, or the call that led into the library.
  source::Range place(source::Range range) const { return user_place(range).range; }
  /// What the user called there; empty where the range is the user's own.
  std::string callee(source::Range range) const { return user_place(range).callee; }
  bool has_errors() const { return sink_->has_errors(); }
  /// How often an error was reported, told again or not: whether something went wrong since is a difference of two counts.
  int errors() const { return errors_; }
  source::Sink& sink() { return *sink_; }

 private:
  struct Entry {
    std::string name;
    source::Range range;
  };
  struct Place {
    source::Range range;
    std::string callee;  ///< empty where the range is the user's own
  };
  Place user_place(source::Range range) const;
  /// Whether this is the first time.
  bool fresh(int code, source::Range range, source::Range inner);

  source::Sink* sink_;
  int errors_ = 0;
  std::vector<int32_t> library_;
  std::vector<Entry> calls_;
  std::set<std::tuple<int, int32_t, int32_t, int32_t, int32_t>> told_;
};

}  // namespace dtl::sema
