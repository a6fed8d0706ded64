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
    Call(Reporter& reporter, std::string name, source::Range range) : reporter_(&reporter) { reporter.calls_.push_back({std::move(name), range}); }
    ~Call() { reporter_->calls_.pop_back(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Reporter* reporter_;
  };
  size_t depth() const { return calls_.size(); }

  template <class... Args>
  source::Reported report(source::Range range, const source::Diag<Args...>& diag, const std::type_identity_t<Args>&... args) {
    const Place place = user_place(range);
    source::Reported reported = sink_->report(place.range, diag, args...);
    if (!place.callee.empty() && first(diag.code, place.range, range)) reported.note(range, "inside `" + place.callee + "`, here");
    return reported;
  }
  /// Names are looked up by two walks; a mistake of one place is told once.
  bool first(int code, source::Range range, source::Range inner = {});
  bool has_errors() const { return sink_->has_errors(); }
  int errors() const { return sink_->errors(); }
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

  source::Sink* sink_;
  std::vector<int32_t> library_;
  std::vector<Entry> calls_;
  std::set<std::tuple<int, int32_t, int32_t, int32_t, int32_t>> told_;
};

}  // namespace dtl::sema
