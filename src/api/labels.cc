// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/thread_locals.h"
#include "sched/model/goroutine.h"
#include "sched/state/goroutine_labels.h"
#include "sched/tracing/trace_points.h"
#include "weft/labels.h"

namespace weft {
namespace {

using sched::LabelSet;

// Where the caller's labels are kept: in its goroutine, or its thread. Throws std::bad_alloc.
sched::LabelHolder& own_holder() {
  sched::Goroutine* g = os::current_g();
  if (g == nullptr) return api::thread_locals().labels;
  if (g->locals == nullptr) {
    auto fresh = std::make_unique<sched::Locals>();
    const std::lock_guard guard(sched::label_lock_of(g));
    g->locals = fresh.release();
  }
  g->flags |= sched::kGDetails;
  return g->locals->labels;
}

const LabelSet* put_in_place(const LabelSet* set) {
  sched::LabelHolder& holder = own_holder();
  const std::lock_guard guard(sched::label_lock_of(os::current_g()));
  return holder.exchange(set);
}

void tell_tracer(const LabelSet* set) {
  if (!trace::recording()) return;
  const std::string_view text = set != nullptr ? std::string_view(set->text()) : std::string_view();
  trace::user_log(sched::trace_place(), 0, "labels", 6, text.data(), text.size());
}

std::vector<LabelSet::Pair> merged(const LabelSet* outer,
                                   std::initializer_list<std::pair<std::string_view, std::string_view>> added) {
  std::vector<LabelSet::Pair> pairs;
  if (outer != nullptr) pairs = outer->pairs();
  for (const auto& [key, value] : added) {
    const auto found = std::ranges::find(pairs, key, &LabelSet::Pair::first);
    if (found != pairs.end()) {
      found->second = value;
    } else {
      pairs.emplace_back(key, value);
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

const detail::label_set* hidden(const LabelSet* set) noexcept {
  return reinterpret_cast<const detail::label_set*>(set);
}

}  // namespace

labels::labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  const LabelSet* fresh = LabelSet::create(merged(own_holder().look(), pairs));
  outer_ = hidden(put_in_place(fresh));
  tell_tracer(fresh);
}

labels::~labels() {
  const auto* outer = reinterpret_cast<const LabelSet*>(outer_);
  const LabelSet* ended = put_in_place(outer);
  tell_tracer(outer);
  LabelSet::release(ended);
}

}  // namespace weft
