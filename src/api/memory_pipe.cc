// SPDX-License-Identifier: MIT
#include "api/memory_pipe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/state/control.h"
#include "weft/detail/pipe_handle.h"
#include "weft/net.h"

namespace weft::net {
namespace {

bool has_passed(std::int64_t deadline_ns) noexcept {
  return deadline_ns != detail::forever && sched::caller_now_ns() >= deadline_ns;
}

// The stream's lock for a wait that a context may end. A context that was cancelled before the wait was queued has
// woken no waiter, so the cancellation is read again after the queueing. The canceller stores `raised` and then looks
// into the queue under the queue's lock. The waiter queues under that lock and loads `raised` afterwards. So one of the
// two sees the other.
struct CancellableLock {
  void lock() { inner.lock(); }
  void unlock() {
    inner.unlock();
    if (cancellation.raised()) condition.wake_all();
  }
  mutex& inner;
  const PipeCancellation& cancellation;
  PipeCondition& condition;
};

// Why a call ends before it is served; 0: it may go on waiting.
int reason_to_stop(const bool& closed, const std::int64_t& deadline_ns, const PipeCancellation& cancellation) noexcept {
  if (closed) return EBADF;
  if (cancellation.raised()) return ECANCELED;
  return has_passed(deadline_ns) ? ETIMEDOUT : 0;
}

// With the stream's lock held. `deadline_ns` may change meanwhile; its setter notifies.
template <class Ready>
int wait(PipeStream& stream, PipeCondition& condition, const bool& closed, const std::int64_t& deadline_ns,
         const PipeCancellation& cancellation, Ready ready) {
  CancellableLock lock{stream.lock, cancellation, condition};
  while (!ready()) {
    if (const int stop = reason_to_stop(closed, deadline_ns, cancellation)) return stop;
    WEFT_DELAY_SITE("pipe.before_wait");
    if (deadline_ns == detail::forever) {
      condition.wait(lock);
    } else {
      condition.wait_until(lock, time_point(std::chrono::nanoseconds(deadline_ns)));
    }
  }
  return 0;
}

std::size_t copy(std::span<const std::byte> from, std::span<const std::span<std::byte>> buffers) noexcept {
  std::size_t done = 0;
  for (const std::span<std::byte> buffer : buffers) {
    const std::size_t size = std::min(buffer.size(), from.size() - done);
    if (size != 0) std::memcpy(buffer.data(), from.data() + done, size);
    done += size;
  }
  return done;
}

}  // namespace

PipeCancellation::PipeCancellation(const context* ctx, PipeCondition& condition) : ctx_(ctx) {
  if (ctx_ == nullptr) return;
  watch_.condition = &condition;
  watch_.fired = [](detail::context_watch* raw) {
    auto* watch = static_cast<Watch*>(raw);
    watch->raised.store_release(true);  // pairs: pipe.raised
    watch->condition->wake_all();
  };
  if (!detail::watch_context(*ctx_, watch_)) watch_.raised.store_release(true);  // pairs: pipe.raised
}

PipeCancellation::~PipeCancellation() {
  if (ctx_ != nullptr) detail::unwatch_context(watch_);
}

std::error_code PipeCancellation::explain(int number) const noexcept {
  if (number == ECANCELED && ctx_ != nullptr && ctx_->cancelled()) return ctx_->err();
  return {number, std::system_category()};
}

void PipeEnd::drop(PipeEnd* end) noexcept {
  end->close();
  MemoryPipe& pipe = end->pipe_;
  delete end;
  if (pipe.ends.fetch_sub_acq_rel(1) == 1) delete &pipe;  // pairs: pipe.ends (self)
}

std::size_t PipeEnd::read(const context* ctx, std::span<const std::span<std::byte>> buffers, std::error_code& error) {
  error.clear();
  const PipeCancellation cancellation(ctx, in_.readable);
  std::lock_guard guard(in_.lock);
  const auto ready = [&] { return !in_.offered.empty() || in_.write_shut || in_.read_shut; };
  int number = reason_to_stop(in_.reader_closed, in_.read_deadline_ns, cancellation);
  if (number == 0 && std::all_of(buffers.begin(), buffers.end(), [](const auto& each) { return each.empty(); }))
    return 0;
  if (number == 0) number = wait(in_, in_.readable, in_.reader_closed, in_.read_deadline_ns, cancellation, ready);
  if (number == 0 && in_.reader_closed) number = EBADF;
  if (number != 0) {
    error = cancellation.explain(number);
    return 0;
  }
  if (in_.read_shut) return 0;
  const std::size_t size = copy(in_.offered, buffers);
  in_.offered = in_.offered.subspan(size);
  if (in_.offered.empty()) in_.writable.notify_all();
  return size;
}

void PipeEnd::shut(PipeStream& stream, bool PipeStream::* flag) noexcept {
  std::lock_guard guard(stream.lock);
  stream.*flag = true;
  stream.readable.notify_all();
  stream.writable.notify_all();
}

void PipeEnd::close() noexcept {
  const auto close_side = [](PipeStream& stream, bool PipeStream::* shut_flag, bool PipeStream::* closed_flag) {
    std::lock_guard guard(stream.lock);
    stream.*closed_flag = true;
    stream.*shut_flag = true;
    stream.readable.notify_all();
    stream.writable.notify_all();
  };
  close_side(in_, &PipeStream::read_shut, &PipeStream::reader_closed);
  close_side(out_, &PipeStream::write_shut, &PipeStream::writer_closed);
}

bool PipeEnd::is_open() noexcept {
  std::lock_guard guard(in_.lock);
  return !in_.reader_closed;
}

void PipeEnd::set_read_deadline(std::int64_t deadline_ns) noexcept {
  std::lock_guard guard(in_.lock);
  in_.read_deadline_ns = deadline_ns;
  in_.readable.notify_all();
}

void PipeEnd::set_write_deadline(std::int64_t deadline_ns) noexcept {
  std::lock_guard guard(out_.lock);
  out_.write_deadline_ns = deadline_ns;
  out_.writable.notify_all();
}

PipeWrite::PipeWrite(PipeEnd& end, const context* ctx, std::error_code& error)
    : stream_(end.out_), error_(error), cancellation_(ctx, end.out_.writable) {
  error_.clear();
  std::lock_guard guard(stream_.lock);
  const auto ready = [&] { return !stream_.taken; };
  int number = reason_to_stop(stream_.writer_closed, stream_.write_deadline_ns, cancellation_);
  if (number == 0)
    number = wait(stream_, stream_.writable, stream_.writer_closed, stream_.write_deadline_ns, cancellation_, ready);
  if (number == 0) has_turn_ = stream_.taken = true;
  if (number == 0 && stream_.writer_closed) number = EBADF;
  if (number == 0 && (stream_.write_shut || stream_.read_shut)) number = EPIPE;
  if (number != 0) error_ = cancellation_.explain(number);
}

PipeWrite::~PipeWrite() {
  if (!has_turn_) return;
  std::lock_guard guard(stream_.lock);
  stream_.taken = false;
  stream_.writable.notify_all();
}

std::size_t PipeWrite::put(std::span<const std::byte> data) {
  if (error_ || data.empty()) return 0;
  std::lock_guard guard(stream_.lock);
  stream_.offered = data;
  stream_.readable.notify_all();
  const auto ready = [&] { return stream_.offered.empty() || stream_.read_shut || stream_.write_shut; };
  int number = wait(stream_, stream_.writable, stream_.writer_closed, stream_.write_deadline_ns, cancellation_, ready);
  const std::size_t left = stream_.offered.size();
  stream_.offered = {};
  if (number == 0 && left != 0) number = stream_.writer_closed ? EBADF : EPIPE;
  if (number != 0 && left != 0) error_ = cancellation_.explain(number);
  return data.size() - left;
}

}  // namespace weft::net

namespace weft::detail {
namespace {
net::PipeEnd& pipe_end(void* end) { return *static_cast<net::PipeEnd*>(end); }
}  // namespace

void pipe_handle::drop(void* end) noexcept { net::PipeEnd::drop(&pipe_end(end)); }
void pipe_handle::close_end() noexcept { pipe_end(end_).close(); }
bool pipe_handle::is_end_open() const noexcept { return pipe_end(end_).is_open(); }
void pipe_handle::set_end_deadline(bool reading, bool writing, time_point when) noexcept {
  const std::int64_t ns = deadline_at(when);
  if (reading) pipe_end(end_).set_read_deadline(ns);
  if (writing) pipe_end(end_).set_write_deadline(ns);
}

}  // namespace weft::detail
