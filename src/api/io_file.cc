// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <stdexcept>

#include "api/socket.h"
#include "weft/go.h"
#include "weft/io.h"

// Files by hand-off. A call that is served from memory costs a few dozen nanoseconds more than without. A call that
// waits for the disk loses its P to other work (docs/decisions/0004).
namespace weft::io {
namespace {

using net::error_from;
using net::system_call;

constexpr std::size_t kLargestCall = 1u << 30;

template <class Call>
ssize_t call_blocking(Call call) {
  ssize_t result;
  do {
    result = blocking([&] { return system_call(call); });
  } while (result == -EINTR);
  return result;
}

std::size_t result_of(ssize_t result, std::error_code& error) {
  error.clear();
  if (result >= 0) return static_cast<std::size_t>(result);
  error = error_from(static_cast<int>(-result));
  return 0;
}

template <class WriteSome>
std::size_t write_whole(std::span<const std::byte> data, std::error_code& error, WriteSome write_some) {
  std::size_t done = 0;
  error.clear();
  while (done < data.size()) {
    const auto rest = data.subspan(done, std::min(data.size() - done, kLargestCall));
    const ssize_t size = call_blocking([&] { return write_some(rest, done); });
    if (size < 0) {
      error = error_from(static_cast<int>(-size));
      break;
    }
    done += static_cast<std::size_t>(size);
  }
  return done;
}

void require(ssize_t result, const char* what) {
  if (result < 0) throw std::system_error(error_from(static_cast<int>(-result)), std::string("weft: ") + what);
}

}  // namespace

file open(const std::string& path, mode how, unsigned permissions, std::error_code& error) {
  int flags = O_CLOEXEC;
  if (how & mode::read_write) {
    flags |= O_RDWR | O_CREAT;
  } else if (how & mode::append) {
    flags |= O_WRONLY | O_CREAT | O_APPEND;
  } else if (how & mode::write) {
    flags |= O_WRONLY | O_CREAT | O_TRUNC;
  } else if (!(how & mode::read)) {
    throw std::invalid_argument("weft: open: a mode must contain read, write, append or read_write");
  }
  if (how & mode::exclusive) flags |= O_EXCL;
  const ssize_t fd = call_blocking([&] { return ::open(path.c_str(), flags, permissions); });
  result_of(fd, error);
  return fd >= 0 ? file(static_cast<int>(fd)) : file();
}

file open(const std::string& path, mode how, unsigned permissions) {
  std::error_code error;
  file opened = open(path, how, permissions, error);
  if (error) throw std::system_error(error, "weft: open " + path);
  return opened;
}

std::size_t file::read(detail::bytes_to_fill into, std::error_code& error) {
  const std::span<std::byte> buffer = into.span();
  const std::size_t size = std::min(buffer.size(), kLargestCall);
  return result_of(call_blocking([&] { return ::read(fd_, buffer.data(), size); }), error);
}
std::size_t file::read(detail::bytes_to_fill buffer) {
  std::error_code error;
  const std::size_t size = read(buffer, error);
  if (error) throw std::system_error(error, "weft: file::read");
  return size;
}
std::size_t file::read_at(std::uint64_t offset, detail::bytes_to_fill into, std::error_code& error) {
  const std::span<std::byte> buffer = into.span();
  const std::size_t size = std::min(buffer.size(), kLargestCall);
  return result_of(call_blocking([&] { return pread(fd_, buffer.data(), size, static_cast<off_t>(offset)); }), error);
}
std::size_t file::read_at(std::uint64_t offset, detail::bytes_to_fill buffer) {
  std::error_code error;
  const std::size_t size = read_at(offset, buffer, error);
  if (error) throw std::system_error(error, "weft: file::read_at");
  return size;
}

std::size_t file::write(detail::bytes_to_write data, std::error_code& error) {
  return write_whole(data.span(), error, [&](std::span<const std::byte> rest, std::size_t) {
    return ::write(fd_, rest.data(), rest.size());
  });
}
std::size_t file::write(detail::bytes_to_write data) {
  std::error_code error;
  const std::size_t size = write(data, error);
  if (error) throw std::system_error(error, "weft: file::write");
  return size;
}
std::size_t file::write_at(std::uint64_t offset, detail::bytes_to_write data, std::error_code& error) {
  return write_whole(data.span(), error, [&](std::span<const std::byte> rest, std::size_t done) {
    return pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}
std::size_t file::write_at(std::uint64_t offset, detail::bytes_to_write data) {
  std::error_code error;
  const std::size_t size = write_at(offset, data, error);
  if (error) throw std::system_error(error, "weft: file::write_at");
  return size;
}

void file::sync() {
  require(call_blocking([&] { return fsync(fd_); }), "file::sync");
}
void file::truncate(std::uint64_t bytes) {
  require(call_blocking([&] { return ftruncate(fd_, static_cast<off_t>(bytes)); }), "file::truncate");
}
std::uint64_t file::size() const {
  struct stat status{};
  require(call_blocking([&] { return fstat(fd_, &status); }), "file::size");
  return static_cast<std::uint64_t>(status.st_size);
}

void file::close() noexcept {
  if (fd_ < 0) return;
  const int fd = std::exchange(fd_, -1);
  blocking([fd] { ::close(fd); });  // network file systems write back here
}

}  // namespace weft::io
