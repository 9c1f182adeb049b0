// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <system_error>

#include "api/context_watch.h"
#include "base/atomic.h"
#include "weft/condition_variable.h"
#include "weft/mutex.h"

// net::pipe(): two ends in memory, as Go's net.Pipe.
//   Job        A conn without a descriptor. Each direction is a stream: a writer offers its own memory, readers copy
//              out of it, and the write returns when all has been taken. So there is no buffer size to choose, and a
//              test that forgets to read is a deadlock that the runtime reports, with both stacks.
//   Invariants Of a stream, under its lock: `offered` is not empty only while `taken` is true, and lies in the memory
//              of the call that has the turn. A call that changes what others wait for notifies all of them; they are
//              few, because few goroutines use one connection.
//   Cost       None for sockets: conn looks for an end only where it would report a closed connection (no descriptor).
//   Rejected   socketpair(2): it buffers, so a write returns before the peer has read, and the kernel chooses how much
//              it takes. It needs two descriptors and the poller. A wait in it is I/O, which is no deadlock and no time
//              of a fake clock.
//              Channels of buffers, as Go has it: deadlines that change while calls wait need a channel and a timer
//              each.
namespace weft::net {

// The waiters on one side of a stream.
class PipeCondition : public condition_variable_any {
 public:
  constexpr PipeCondition() noexcept : condition_variable_any("net::pipe") {}
  // For callers without the stream's lock: looks into the queue under its lock. notify_all() relies on the stream's
  // lock.
  void wake_all() noexcept { notify(kAll); }
};

// The context of a call. Cancelling it wakes the condition.
class PipeCancellation {
 public:
  PipeCancellation(const context* ctx, PipeCondition& condition);
  ~PipeCancellation();
  PipeCancellation(const PipeCancellation&) = delete;
  bool raised() const noexcept { return watch_.raised.load_acquire(); }  // pairs: pipe.raised
  std::error_code explain(int number) const noexcept;

 private:
  struct Watch : detail::context_watch {
    base::Atom<bool> raised{false};
    PipeCondition* condition = nullptr;
  };
  const context* ctx_;
  Watch watch_;
};

struct PipeStream {
  mutex lock{"net::pipe"};
  PipeCondition readable, writable;
  std::span<const std::byte> offered;
  bool taken = false;                                 // a write has its turn
  bool read_shut = false;                             // the reading side has ended
  bool write_shut = false;                            // the writing side has ended
  bool reader_closed = false, writer_closed = false;  // by close(): calls on that side fail
  std::int64_t read_deadline_ns = detail::forever, write_deadline_ns = detail::forever;
};

struct MemoryPipe {
  PipeStream streams[2];
  base::Atom<int> ends{2};
};

class PipeEnd {
 public:
  PipeEnd(MemoryPipe& pipe, int side) noexcept : pipe_(pipe), in_(pipe.streams[side]), out_(pipe.streams[1 - side]) {}
  static void drop(PipeEnd* end) noexcept;  // closes it

  // Reads what there is into the buffers, in order. 0: the end of the stream, or no room.
  std::size_t read(const context* ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error);
  void shut_read() noexcept { shut(in_, &PipeStream::read_shut); }
  void shut_write() noexcept { shut(out_, &PipeStream::write_shut); }
  void close() noexcept;
  bool is_open() noexcept;
  void set_read_deadline(std::int64_t deadline_ns) noexcept;
  void set_write_deadline(std::int64_t deadline_ns) noexcept;

 private:
  friend class PipeWrite;
  static void shut(PipeStream& stream, bool PipeStream::* flag) noexcept;
  MemoryPipe& pipe_;
  PipeStream& in_;
  PipeStream& out_;
};

// One write. It has the turn until it is destroyed.
class PipeWrite {
 public:
  PipeWrite(PipeEnd& end, const context* ctx, std::error_code& error);
  ~PipeWrite();
  PipeWrite(const PipeWrite&) = delete;
  std::size_t put(std::span<const std::byte> data);  // how much of it was read; less: an error

 private:
  PipeStream& stream_;
  std::error_code& error_;
  PipeCancellation cancellation_;
  bool has_turn_ = false;
};

}  // namespace weft::net
