// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>
#include <vector>

#include "support/runtime_test.h"

// weft::labels: what a goroutine works on, in dumps.
namespace {

using namespace weft::test;

class Labels : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Labels);

// The labels that a dump shows of the goroutine of that name.
std::string labels_of(const std::string& name) {
  const std::string text = dump_text();
  const std::size_t quoted = text.find('"' + name + '"');
  if (quoted == std::string::npos) return "(no goroutine)";
  const std::string entry = text.substr(quoted, text.find("\n\n", quoted) - quoted);
  const std::size_t at = entry.find("  labels: ");
  if (at == std::string::npos) return {};
  return entry.substr(at + 10, entry.find('\n', at) - at - 10);
}

TEST_P(Labels, a_scope_labels_its_goroutine_and_the_goroutines_it_starts) {
  weft::run([] {
    weft::this_goroutine::set_name("parent");
    weft::event end;
    EXPECT_EQ(labels_of("parent"), "");
    weft::task<void> child, grandchild, later;
    {
      const weft::labels work{{"user", "alice"}, {"path", "/index"}};
      EXPECT_EQ(labels_of("parent"), "path=/index, user=alice");
      child = weft::spawn({.name = "child"}, [&] {
        grandchild = weft::spawn({.name = "grandchild"}, [&] { end.wait(); });
        end.wait();
      });
      {
        const weft::labels inner{{"user", "bob"}, {"step", "2"}};
        EXPECT_EQ(labels_of("parent"), "path=/index, step=2, user=bob");
      }
      EXPECT_EQ(labels_of("parent"), "path=/index, user=alice");
    }
    EXPECT_EQ(labels_of("parent"), "");
    later = weft::spawn({.name = "later"}, [&] { end.wait(); });
    EXPECT_TRUE(spin_until([] { return labels_of("grandchild") == "path=/index, user=alice"; })) << dump_text();
    EXPECT_TRUE(spin_until([] { return labels_of("child") == "path=/index, user=alice"; })) << dump_text();
    EXPECT_TRUE(spin_until([] { return labels_of("later").empty(); })) << dump_text();
    end.set();
  });
}

TEST_P(Labels, a_plain_thread_labels_what_it_starts) {
  weft::event end;
  weft::task<void> child;
  {
    const weft::labels work{{"by", "thread"}};
    child = weft::spawn({.name = "of a thread"}, [&] { end.wait(); });
  }
  EXPECT_TRUE(spin_until([] { return labels_of("of a thread") == "by=thread"; })) << dump_text();
  end.set();
  child.join();
}

TEST_P(Labels, control_characters_are_escaped) {
  weft::run([] {
    weft::this_goroutine::set_name("odd");
    const weft::labels work{{"a\nb", "\x1b[2J\x7f"}};
    EXPECT_EQ(labels_of("odd"), "a\\x0ab=\\x1b[2J\\x7f");
  });
}

TEST_P(Labels, exit_ends_the_scopes_that_it_leaves) {
  weft::run([] {
    for (int i = 0; i < 100; ++i) {
      weft::task<void> leaves = weft::spawn([] {
        const weft::labels work{{"key", "value"}};
        weft::this_goroutine::exit();
      });
      EXPECT_THROW(leaves.join(), weft::goroutine_exited);
      weft::spawn({.name = "next on the stack"}, [] { EXPECT_EQ(labels_of("next on the stack"), ""); }).join();
    }
  });
}

TEST_P(Labels, many_goroutines_change_labels_while_dumps_look_at_them) {
  weft::run([] {
    std::atomic<int> rounds{0};
    std::atomic<bool> end{false};  // when a dump has shown labels
    std::vector<weft::task<void>> workers;
    for (int i = 0; i < 8; ++i)
      workers.push_back(weft::spawn([&] {
        while (!end || rounds.load() < 1000) {
          ++rounds;
          const weft::labels outer{{"round", std::to_string(rounds.load())}};
          weft::spawn([] {
            const weft::labels inner{{"in", "child"}};
            weft::this_goroutine::yield();
          }).join();
        }
      }));
    int seen = 0;
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (seen == 0 && std::chrono::steady_clock::now() < give_up) {
      seen += dump_text().find("  labels: ") != std::string::npos;
      weft::this_goroutine::yield();
    }
    EXPECT_GT(seen, 0);
    end = true;
    for (auto& worker : workers) worker.join();
  });
}

}  // namespace
