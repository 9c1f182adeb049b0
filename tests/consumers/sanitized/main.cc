// SPDX-License-Identifier: MIT
#include <weft/weft.h>

#include <cstdio>
#include <memory>
#include <string>

// Goroutines that hand memory to each other in order: a sanitizer that is told of them has nothing to report.
// "overrun": one that it must report.
int main(int argc, char** argv) {
  weft::run([] {
    weft::chan<std::unique_ptr<std::string>> words(2);
    weft::wait_group senders;
    for (int i = 0; i < 100; ++i)
      senders.go([i, words]() mutable { words.send(std::make_unique<std::string>(std::to_string(i))); });
    weft::go([&] {
      senders.wait();
      words.close();
    });
    int sum = 0;
    for (auto& word : words) sum += weft::spawn([&word] { return std::stoi(*word); }).join();
    std::printf("sum %d\n", sum);
  });
  if (argc > 1 && std::string(argv[1]) == "overrun") {
    const auto place = std::make_unique<char[]>(8);
    volatile std::size_t at = 8;
    return weft::spawn([&] { return place[at]; }).join();
  }
}
