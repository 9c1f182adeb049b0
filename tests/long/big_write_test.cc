// SPDX-License-Identifier: MIT
// test-timeout: 900
// test-labels: serial no-asan no-tsan
#include <sys/mman.h>
#include <unistd.h>
#include <weft/net.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "support/runtime_test.h"

// One write of more than two gigabytes, more than the kernel takes in any one call, to a reader that is slower (NP22).
namespace {

using namespace weft::test;
namespace net = weft::net;

class BigWrite : public RuntimeTest {
 protected:
  BigWrite() : RuntimeTest(600) {}
};
WEFT_AT_ALL_CONFIGURATIONS(BigWrite);

constexpr std::size_t kBlock = 16 << 20, kBlocks = 136;  // 2.1 GiB

// The same 16 MiB over and over, side by side in the address space, so that the test needs no such memory.
class Repeated {
 public:
  Repeated() : fd_(memfd_create("weft", MFD_CLOEXEC)) {
    if (fd_ < 0 || ftruncate(fd_, kBlock) != 0) std::abort();
    void* area = mmap(nullptr, kBlock * kBlocks, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) std::abort();
    start_ = static_cast<std::byte*>(area);
    for (std::size_t i = 0; i < kBlocks; ++i)
      if (mmap(start_ + i * kBlock, kBlock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) == MAP_FAILED)
        std::abort();
    for (std::size_t i = 0; i < kBlock; ++i) start_[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  }
  ~Repeated() {
    munmap(start_, kBlock * kBlocks);
    close(fd_);
  }
  std::span<const std::byte> all() const { return {start_, kBlock * kBlocks}; }

 private:
  int fd_;
  std::byte* start_;
};

TEST_P(BigWrite, arrives_whole) {
  const Repeated data;
  weft::run([&] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    auto writer = weft::spawn([&] {
      net::conn connection = net::dial("tcp", listener.address().to_string());
      std::error_code error;
      const std::size_t written = connection.write_all(data.all(), error);
      EXPECT_FALSE(error) << error.message();
      return written;
    });
    net::conn connection = listener.accept();
    std::vector<std::byte> buffer(3 << 20);
    std::size_t at = 0, wrong = 0;
    for (int round = 0;; ++round) {
      const std::size_t size = connection.read(buffer);
      if (size == 0) break;
      if (at + size > data.all().size() || std::memcmp(buffer.data(), data.all().data() + at, size) != 0) ++wrong;
      at += size;
      if (round % 512 == 0) weft::this_goroutine::sleep_for(5ms);
    }
    EXPECT_EQ(writer.join(), data.all().size());
    EXPECT_EQ(at, data.all().size());
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace
