// SPDX-License-Identifier: MIT
#include "trace/flight_window.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "trace/batch.h"
#include "trace/format.h"

namespace weft::trace {
namespace {

using format::Event;
using format::GoStatus;

struct Batch {
  std::uint64_t generation = 0, thread = 0, time = 0;
  std::string_view payload;
};

const unsigned char* begin_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Reads bytes that weft wrote itself: no more checks than keep the loop finite.
void for_each_batch(std::string_view bytes, const std::function<void(const Batch&)>& visit) {
  const unsigned char* at = begin_of(bytes);
  const unsigned char* const end = at + bytes.size();
  while (at != nullptr && at != end) {
    ++at;  // kEventBatch
    Batch batch;
    std::uint64_t size = 0;
    at = format::get_varint(at, end, batch.generation);
    if (at != nullptr) at = format::get_varint(at, end, batch.thread);
    if (at != nullptr) at = format::get_varint(at, end, batch.time);
    if (at != nullptr) at = format::get_varint(at, end, size);
    if (at == nullptr || size > static_cast<std::uint64_t>(end - at)) return;
    batch.payload = {reinterpret_cast<const char*>(at), size};
    visit(batch);
    at += size;
  }
}

void for_each_event(const Batch& batch, const std::function<void(Event, const std::uint64_t*)>& visit) {
  const unsigned char* at = begin_of(batch.payload);
  const unsigned char* const end = at + batch.payload.size();
  if (at == end || !format::kEvents[*at].timed) return;
  while (at != nullptr && at != end) {
    const auto event = static_cast<Event>(*at++);
    std::uint64_t arguments[format::kMaxArguments] = {};
    for (std::size_t i = 0; i < format::spec(event).arguments() && at != nullptr; ++i)
      at = format::get_varint(at, end, arguments[i]);
    if (at != nullptr) visit(event, arguments);
  }
}

struct Introduction {
  std::uint64_t thread, status;
};

}  // namespace

void FlightWindow::add(std::string generation, std::int64_t ended_ns) {
  bytes_ += generation.size();
  kept_.push_back({std::move(generation), ended_ns});
  // The oldest generation goes when those after it cover the window already.
  while (kept_.size() > 1 && (kept_[0].ended_ns <= ended_ns - length_ns_ || bytes_ > kMaxBytes)) {
    bytes_ -= kept_[0].bytes.size();
    kept_.pop_front();
  }
}

std::string FlightWindow::snapshot() const {
  // A stop of the world that began before the window must not end in it.
  std::size_t first = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    std::int64_t balance = 0;  // goroutines do not matter: there is one stopper at a time
    for_each_batch(kept_[i].bytes, [&](const Batch& batch) {
      for_each_event(batch, [&](Event event, const std::uint64_t*) {
        if (event == Event::kStwBegin) ++balance;
        if (event == Event::kStwEnd) --balance;
      });
    });
    if (balance < 0 && i + 1 < kept_.size()) first = i + 1;
  }

  std::set<std::uint64_t> known;
  std::map<std::uint64_t, Introduction> missing;
  std::uint64_t generation = 0, time = format::kNone;
  for (std::size_t i = first; i < kept_.size(); ++i) {
    // Within a generation a goroutine may be created by one thread and mentioned by another whose batch stands earlier.
    std::map<std::uint64_t, Introduction> statuses;
    std::set<std::uint64_t> created;
    for_each_batch(kept_[i].bytes, [&](const Batch& batch) {
      if (i == first) {
        generation = batch.generation;
        time = std::min(time, batch.time);
      }
      for_each_event(batch, [&](Event event, const std::uint64_t* arguments) {
        if (event == Event::kGoCreate || event == Event::kGoCreateBlocked) created.insert(arguments[1]);
        if (event == Event::kGoStatus) statuses.try_emplace(arguments[1], Introduction{arguments[2], arguments[3]});
      });
    });
    for (const auto& [id, introduction] : statuses)
      if (i > first && !known.contains(id) && !created.contains(id)) missing.emplace(id, introduction);
    for (const auto& [id, introduction] : statuses) known.insert(id);
    known.insert(created.begin(), created.end());
  }

  std::string out(format::kHeader123);
  // The batches of threads come first: a goroutine runs on its thread before anything else happens there.
  std::map<std::uint64_t, std::string> payloads;
  for (const auto& [id, introduction] : missing) {
    const bool runs = introduction.status == static_cast<std::uint64_t>(GoStatus::kRunning);
    std::string& payload = payloads[runs ? introduction.thread : format::kNone];
    if (payload.size() + format::kMaxTimedEvent > format::kMaxBatch) {
      append_batch(out, generation, runs ? introduction.thread : format::kNone, time, payload);
      payload.clear();
    }
    append_number(payload, static_cast<std::uint64_t>(Event::kGoStatus));
    append_number(payload, 0);
    append_number(payload, id);
    append_number(payload, introduction.thread);
    append_number(payload, introduction.status);
  }
  for (const auto& [thread, payload] : payloads) append_batch(out, generation, thread, time, payload);
  for (std::size_t i = first; i < kept_.size(); ++i) out += kept_[i].bytes;
  return out;
}

}  // namespace weft::trace
