// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

// The type-erased channel: one implementation for all element types (src/api/chan_core.cc).
namespace weft::detail {

// How elements are moved. Moves never throw: types whose own moves may throw are kept in boxes (chan.h).
struct element_ops {
  std::size_t size;  // 0: an empty type, only counted
  std::size_t align;
  void (*move)(void* to, void* from) noexcept;  // constructs *to; null: memcpy
  void (*destroy)(void* element) noexcept;      // null: nothing to do
};

enum class chan_outcome : std::uint8_t { done, would_block, closed };

class chan_core;

// A timer's channel: no buffer, and an entry in a timer heap only while goroutines wait; each tick wakes the first of
// them. The element is a steady_clock time in nanoseconds. period > 0: a ticker.
chan_core* make_timer_chan(std::int64_t when_ns, std::int64_t period_ns);
// True: the timer was started, and its value had not been received yet.
bool set_timer_chan(chan_core* channel, std::int64_t when_ns, std::int64_t period_ns);
bool stop_timer_chan(chan_core* channel);
// The name lives as long as the channel; null: none. Throws std::length_error, std::bad_alloc.
chan_core* make_chan(std::size_t capacity, const element_ops& ops, const char* name = nullptr);
void retain_chan(chan_core* channel) noexcept;
void release_chan(chan_core* channel) noexcept;

// Deadline 0: never blocks; forever: no limit. A null channel is Go's nil channel.
// Send: *value is moved from only if the outcome is `done`.
chan_outcome send_on(chan_core* channel, void* value, std::int64_t deadline_ns);
// Receive: *storage is constructed only if the outcome is `done`.
chan_outcome receive_from(chan_core* channel, void* storage, std::int64_t deadline_ns);
// False: it was closed already. Throws logic_error for the channel of a timer or context.
bool close_chan(chan_core* channel);
std::size_t chan_size(const chan_core* channel) noexcept;
std::size_t chan_capacity(const chan_core* channel) noexcept;
bool chan_closed(const chan_core* channel) noexcept;

// One case of a select. A case that is no channel has a null channel, so that the code for channels skips it.
enum class case_source : std::uint8_t { channel, task, future };
struct select_case {
  chan_core* channel;
  void* element;  // send: the value; receive: storage; a task: its task_core; a future: its countdown
  bool is_send;
  bool received;  // out, receive: false when the channel was closed
  case_source source = case_source::channel;
  void (*copy)(void* to, const void* from) = nullptr;  // send: copies instead of moving
};
inline constexpr std::size_t no_case = static_cast<std::size_t>(-1);
// Returns the case that ran; no_case: none before the deadline (0: none was ready). Throws logic_error for a send on a
// closed channel, or what `copy` threw.
std::size_t select_among(select_case* cases, std::size_t count, std::int64_t deadline_ns);
// The same for cases that may be tasks and futures. Such a case takes nothing: when it has run, its task is done or its
// future ready.
std::size_t select_among_all(select_case* cases, std::size_t count, std::int64_t deadline_ns);

[[noreturn]] void throw_send_on_closed();
[[noreturn]] void throw_close_of_closed();
[[noreturn]] void throw_close_of_nil();

}  // namespace weft::detail
