// SPDX-License-Identifier: MIT
#include "api/testing_schedule.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "os/backtrace.h"

namespace weft::api {
namespace {

constexpr std::uint64_t kAloneMost = 2000;  // so many points in a row: it waits for the others without saying so

void append_number(std::string& text, std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 36).ptr;
  text.append(digits, end);
}

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument("weft::testing: '" + std::string(text) +
                              "' is no schedule of this version; one begins with w1:o or w1:u");
}

std::uint64_t parse_number(std::string_view all, std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 36);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse(all);
  return number;
}

}  // namespace

std::string Schedule::text() const {
  std::string text = checks ? "w1:u" : "w1:o";
  std::uint64_t before = 0;
  for (const Entry& entry : entries) {
    text += '.';
    append_number(text, entry.at - before);
    before = entry.at;
    if (entry.answer != 1) {
      text += '~';
      append_number(text, entry.answer);
    }
  }
  return text;
}

Schedule Schedule::parse(std::string_view all) {
  if (!all.starts_with("w1:o") && !all.starts_with("w1:u")) refuse(all);
  Schedule schedule;
  schedule.checks = all[3] == 'u';
  std::string_view rest = all.substr(4);
  std::uint64_t at = 0;
  while (!rest.empty()) {
    if (rest.front() != '.') refuse(all);
    rest.remove_prefix(1);
    const std::string_view entry = rest.substr(0, rest.find('.'));
    rest.remove_prefix(entry.size());
    const std::size_t tilde = entry.find('~');
    at += parse_number(all, entry.substr(0, tilde));
    const std::uint64_t answer = tilde == std::string_view::npos ? 1 : parse_number(all, entry.substr(tilde + 1));
    schedule.entries.push_back({at, static_cast<std::uint32_t>(answer)});
  }
  return schedule;
}

// --- decisions ---

void Chooser::note(std::size_t answer) {
  if (answer != 0) noted_.entries.push_back({decisions_, static_cast<std::uint32_t>(answer)});
}

std::size_t Chooser::next(const std::uint32_t* candidates, std::size_t count, Moment moment) noexcept {
  const bool goes_on = moment == Moment::kPoint || moment == Moment::kCheck;
  if (goes_on) ++events_[candidates[0]];
  if (++alone_ > most_) return kStop;  // counts what is no decision, too
  if (count == 1) {
    last_ = candidates[0];
    return 0;
  }
  if (++decisions_ > most_) return kStop;
  const std::size_t chosen = answer(candidates, count, moment);
  note(chosen);
  const std::uint32_t to = candidates[chosen];
  if (steps_ != nullptr && to != last_) {
    Step step{last_, to, goes_on, {}, 0};
    if (goes_on) step.frames = os::capture_backtrace(step.at, std::size(step.at), 0);
    steps_->push_back(step);
  }
  last_ = to;
  return chosen;
}

std::size_t Chooser::choose(std::size_t count) noexcept {
  if (count < 2) return 0;
  ++decisions_;
  const std::size_t chosen = answer_choice(count);
  note(chosen);
  return chosen;
}

std::size_t Follower::planned(std::size_t count) noexcept {
  while (index_ < schedule_.entries.size() && schedule_.entries[index_].at < at()) ++index_;
  if (index_ == schedule_.entries.size() || schedule_.entries[index_].at != at()) return 0;
  return schedule_.entries[index_++].answer % count;
}

// --- strategies ---

namespace {

// Uniformly random: at checks of user code with a smaller probability of a switch, because there are many of them.
class RandomWalk final : public Chooser {
 public:
  RandomWalk(bool checks, std::uint64_t most, std::uint64_t seed, std::uint32_t calm)
      : Chooser(checks, most), random_(seed), calm_(calm) {}

 private:
  std::size_t answer(const std::uint32_t*, std::size_t count, Moment moment) override {
    const bool goes_on = moment == Moment::kPoint || moment == Moment::kCheck;
    if (goes_on && calm_ > 1 && random_.below(calm_) != 0) return 0;
    return random_.below(static_cast<std::uint32_t>(count));
  }
  std::size_t answer_choice(std::size_t count) override { return random_.below(static_cast<std::uint32_t>(count)); }
  base::Random random_;
  std::uint32_t calm_;
};

// PCT (Burckhardt and others, 2010): random priorities, and depth - 1 places where the running goroutine's priority
// falls below all others. A bug of that depth is found with a probability of at least 1 / (n * k^(depth - 1)).
class Priorities final : public Chooser {
 public:
  Priorities(bool checks, std::uint64_t most, std::uint64_t seed, int depth, std::uint64_t decisions)
      : Chooser(checks, most), random_(seed) {
    for (int i = 1; i < depth; ++i) changes_.push_back(1 + (decisions == 0 ? 0 : random_.next() % decisions));
  }

 private:
  std::uint64_t& priority_of(std::uint32_t number) {
    const auto [found, is_new] = priorities_.try_emplace(number, 0);
    if (is_new) found->second = kHigh + (random_.next() >> 8);
    return found->second;
  }
  std::size_t answer(const std::uint32_t* candidates, std::size_t count, Moment moment) override {
    const bool goes_on = moment == Moment::kPoint || moment == Moment::kCheck;
    const bool falls = std::find(changes_.begin(), changes_.end(), at()) != changes_.end();
    alone_ = goes_on && last() == candidates[0] ? alone_ + 1 : 0;
    if (moment == Moment::kYield || falls || alone_ > kAloneMost) {
      priority_of(last()) = --low_;
      alone_ = 0;
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (priority_of(candidates[i]) > priority_of(candidates[best])) best = i;
    return best;
  }
  std::size_t answer_choice(std::size_t count) override { return random_.below(static_cast<std::uint32_t>(count)); }

  static constexpr std::uint64_t kHigh = std::uint64_t{1} << 60;
  base::Random random_;
  std::vector<std::uint64_t> changes_;
  std::unordered_map<std::uint32_t, std::uint64_t> priorities_;
  std::uint64_t low_ = kHigh, alone_ = 0;
};

// URW (Zhao and others, 2025): a goroutine is chosen in proportion to the events that it still has, so that all
// interleavings are about equally probable.
class Weighted final : public Chooser {
 public:
  Weighted(bool checks, std::uint64_t most, std::uint64_t seed, const Experience& experience)
      : Chooser(checks, most), random_(seed), expected_(experience.events) {}

 private:
  std::uint64_t left_of(std::uint32_t number) const {
    const auto all = expected_.find(number);
    const auto used = events().find(number);
    const std::uint64_t expected = all == expected_.end() ? 1 : all->second;
    const std::uint64_t had = used == events().end() ? 0 : used->second;
    return expected > had ? expected - had : 1;
  }
  std::size_t answer(const std::uint32_t* candidates, std::size_t count, Moment) override {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += left_of(candidates[i]);
    std::uint64_t chosen = random_.next() % sum;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t left = left_of(candidates[i]);
      if (chosen < left) return i;
      chosen -= left;
    }
    return 0;
  }
  std::size_t answer_choice(std::size_t count) override { return random_.below(static_cast<std::uint32_t>(count)); }
  base::Random random_;
  const std::unordered_map<std::uint32_t, std::uint64_t> expected_;
};

// Depth first, with at most `depth` preemptions in a schedule.
class DepthFirst final : public Chooser {
 public:
  DepthFirst(bool checks, std::uint64_t most, int depth, Experience& experience)
      : Chooser(checks, most), depth_(depth), path_(experience.path) {}

 private:
  std::size_t answer(const std::uint32_t* candidates, std::size_t count, Moment moment) override {
    const bool goes_on = moment == Moment::kPoint || moment == Moment::kCheck;
    alone_ = goes_on && last() == candidates[0] ? alone_ + 1 : 0;
    if (alone_ > kAloneMost) return 1;
    if (goes_on && preemptions_ >= depth_) return 0;
    return branch(count, goes_on);
  }
  std::size_t answer_choice(std::size_t count) override { return branch(count, false); }
  std::size_t branch(std::size_t count, bool goes_on) {
    if (index_ == path_.size()) path_.push_back({0, static_cast<std::uint32_t>(count), goes_on});
    const Experience::Branch& here = path_[index_++];
    if (here.is_preemption && here.answer != 0) ++preemptions_;
    return here.answer % count;
  }
  int depth_, preemptions_ = 0;
  std::vector<Experience::Branch>& path_;
  std::size_t index_ = 0;
  std::uint64_t alone_ = 0;
};

// The next path of the depth-first search.
void go_on_depth_first(Experience& experience) {
  auto& path = experience.path;
  while (!path.empty() && path.back().answer + 1 >= path.back().count) path.pop_back();
  if (path.empty()) {
    experience.exhausted = true;
  } else {
    ++path.back().answer;
  }
}

}  // namespace

std::unique_ptr<Chooser> make_chooser(const testing::explore_options& options, std::uint64_t number,
                                      Experience& experience, std::uint64_t most) {
  using testing::strategy;
  const bool checks = options.at == testing::switch_points::user_code;
  const std::uint64_t seed = options.seed * 0x9E3779B97F4A7C15ull + number * 0xD1B54A32D192ED03ull + 1;
  const int depth = std::max(options.depth, 1);
  strategy how = options.how;
  if (how == strategy::dfs) {
    if (number != 0) go_on_depth_first(experience);
    return std::make_unique<DepthFirst>(checks, most, depth, experience);
  }
  if (number == 0)
    return std::make_unique<Follower>(Schedule{{}, checks}, most);  // plain, which also shows how long it is
  std::uint32_t calm = 1;
  std::uint64_t in_turn = number;
  if (how == strategy::portfolio) {
    constexpr strategy kTurns[] = {strategy::pct, strategy::random, strategy::pct, strategy::urw};
    how = kTurns[number % 4];
    in_turn = number / 4;
  }
  if (how == strategy::random) calm = in_turn % 2 == 0 ? 1 : 1u << (1 + in_turn / 2 % 6);
  switch (how) {
    case strategy::pct: {
      const int deep =
          options.how == strategy::pct ? depth : 2 + static_cast<int>(in_turn % static_cast<unsigned>(depth));
      return std::make_unique<Priorities>(checks, most, seed, deep, experience.decisions);
    }
    case strategy::urw: return std::make_unique<Weighted>(checks, most, seed, experience);
    default:            return std::make_unique<RandomWalk>(checks, most, seed, calm);
  }
}

}  // namespace weft::api
