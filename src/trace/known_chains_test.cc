// SPDX-License-Identifier: MIT
#include "trace/known_chains.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

#include "arch/context.h"
#include "os/backtrace.h"
#include "trace/lane.h"

namespace weft::trace {
namespace {

// A stack of 64 words with records in it.
class Stack {
 public:
  // Puts a record at that word, whose caller's record is at word `caller`; 0: it is the outermost.
  void put(std::size_t at, std::size_t caller, std::uintptr_t return_address) {
    words_[at] = caller == 0 ? 0 : address(caller);
    words_[at + 1] = return_address;
  }
  std::uintptr_t& word(std::size_t at) { return words_[at]; }
  std::uintptr_t address(std::size_t at) const { return reinterpret_cast<std::uintptr_t>(&words_[at]); }
  FrameChain from(std::size_t at) const { return {&words_[at], words_, words_ + 64}; }
  std::vector<void*> walk(std::size_t at) const {
    std::vector<void*> pcs(32);
    pcs.resize(os::capture_from_frame_pointer(&words_[at], nullptr, words_, words_ + 64, pcs.data(), pcs.size()));
    return pcs;
  }

 private:
  std::uintptr_t words_[64] = {};
};

// Copies a stack so that the links of the copy lead into the copy.
Stack same_on_another_stack(const Stack& from) {
  Stack copy = from;
  copy.word(10) = copy.address(20);
  copy.word(20) = copy.address(40);
  return copy;
}

class KnownChainsTest : public testing::Test {
 protected:
  std::unique_ptr<KnownChains> chains_ = std::make_unique<KnownChains>();
  Stack stack_;
  void SetUp() override {
    stack_.put(10, 20, 0x1000);
    stack_.put(20, 40, 0x2000);
    stack_.put(40, 0, 0x3000);
    chains_->remember(stack_.from(10), 5);
  }
  std::uint32_t find(const Stack& stack, std::size_t at = 10) {
    const FrameChain chain = stack.from(at);
    const std::uint32_t found = chains_->find(chain.frame, chain.high, hint_);
    const std::uint32_t* there = chains_->find_there(chain.frame, chain.high, hint_);
    EXPECT_EQ(there != nullptr ? *there : 0, found);
    return found;
  }
  void each_changed_word_is_noticed(std::initializer_list<std::size_t> places);
  ChainHint hint_ = 0;
};

TEST_F(KnownChainsTest, finds_what_it_was_told) { EXPECT_EQ(find(stack_), 5u); }

TEST_F(KnownChainsTest, finds_the_same_calls_on_another_stack) {
  Stack other = same_on_another_stack(stack_);
  EXPECT_EQ(other.walk(10), stack_.walk(10));
  EXPECT_EQ(find(other), 5u);
}

TEST_F(KnownChainsTest, does_not_find_it_elsewhere_than_there) {
  const FrameChain chain = stack_.from(10);
  ASSERT_EQ(find(stack_), 5u);
#if !WEFT_ASAN && !WEFT_TSAN
  EXPECT_EQ(chains_->find_there(chain.frame, chain.high, hint_ ^ 1), nullptr);
#endif
  EXPECT_NE(chains_->find_there(chain.frame, chain.high, hint_), nullptr);
}

TEST_F(KnownChainsTest, what_was_forgotten_is_unknown) {
  chains_->forget();
  EXPECT_EQ(find(stack_), 0u);
  chains_->remember(stack_.from(10), 6);
  EXPECT_EQ(find(stack_), 6u);
}

TEST_F(KnownChainsTest, numbers_of_another_generation_are_unknown_to_a_lane) {
  const auto lane = std::make_unique<Lane>();
  const FrameChain chain = stack_.from(10);
  lane->go_on_in(3);
  lane->chains.remember(chain, 5);
  ASSERT_EQ(lane->chains.find(chain.frame, chain.high), 5u);
  lane->go_on_in(4);
  EXPECT_EQ(lane->chains.find(chain.frame, chain.high), 0u);
}

// Whatever word of the chain changes, the answer is what walking says: either the same stack or an unknown one.
void KnownChainsTest::each_changed_word_is_noticed(std::initializer_list<std::size_t> places) {
  const std::vector<void*> original = stack_.walk(10);
  for (std::size_t at : places)
    for (std::uintptr_t value : {std::uintptr_t{0}, std::uintptr_t{0x5000}, stack_.address(30), stack_.address(50),
                                 stack_.address(10), stack_.address(62), stack_.address(63), stack_.address(50) + 1}) {
      Stack changed = same_on_another_stack(stack_);
      changed.word(31) = changed.word(51) = changed.word(63) = 0x4000;
      if (value == stack_.address(30)) value = changed.address(30);
      if (value == stack_.address(50)) value = changed.address(50);
      changed.word(at) = value;
      if (changed.walk(10) == original) {
        EXPECT_TRUE(find(changed) == 5u || find(changed) == 0u);
      } else {
        EXPECT_EQ(find(changed), 0u) << "word " << at << " is " << value;
      }
    }
}

TEST_F(KnownChainsTest, any_changed_word_of_the_chain_is_noticed) {
  each_changed_word_is_noticed({10, 11, 20, 21, 40, 41});
}

// The root's own words are the same in every goroutine.
TEST_F(KnownChainsTest, any_changed_word_below_the_root_is_noticed) {
  stack_.put(40, 0, arch::outermost_return_address());
  chains_->forget();
  chains_->remember(stack_.from(10), 5);
  ASSERT_EQ(find(same_on_another_stack(stack_)), 5u);
  each_changed_word_is_noticed({10, 11, 20, 21});
}

TEST_F(KnownChainsTest, what_looks_like_the_root_and_leads_on_is_looked_at) {
  stack_.put(40, 50, arch::outermost_return_address());
  stack_.put(50, 0, 0x4000);
  chains_->forget();
  chains_->remember(stack_.from(10), 5);
  ASSERT_EQ(find(stack_), 5u);
  for (std::size_t at : {40u, 41u, 50u, 51u}) {
    Stack changed = same_on_another_stack(stack_);
    changed.put(40, 50, arch::outermost_return_address());
    ASSERT_EQ(find(changed), 5u);
    changed.word(at) = changed.address(60);
    EXPECT_EQ(find(changed), 0u) << "word " << at;
  }
}

// In code without frame pointers a chain ends anywhere, and its last link is whatever the register held.
TEST_F(KnownChainsTest, the_last_link_may_be_anything_that_leads_nowhere) {
  for (const std::uintptr_t link :
       {std::uintptr_t{1}, stack_.address(20), stack_.address(64), stack_.address(50) + 1}) {
    stack_.word(40) = link;
    EXPECT_EQ(find(stack_), 5u);
  }
}

TEST_F(KnownChainsTest, chains_of_any_length_are_looked_at_to_their_end) {
  for (std::size_t records = 1; records <= 9; ++records) {
    const auto last = 2 + 4 * (records - 1);
    Stack stack;
    for (std::size_t at = 2; at < last; at += 4) stack.put(at, at + 4, 0x1000 + at);
    stack.put(last, 0, 0x5000);
    chains_->forget();
    chains_->remember(stack.from(2), 5);
    ASSERT_EQ(find(stack, 2), 5u) << records;
    stack.word(last + 1) = 0x5008;
    EXPECT_EQ(find(stack, 2), 0u) << records;
    stack.word(last + 1) = 0x5000;
    stack.word(last) = stack.address(60);
    EXPECT_EQ(find(stack, 2), 0u) << records;
  }
}

TEST_F(KnownChainsTest, a_call_from_another_line_of_the_outermost_function_is_another_stack) {
  Stack other = same_on_another_stack(stack_);
  other.word(41) = 0x3008;
  EXPECT_EQ(find(other), 0u);
  chains_->remember(other.from(10), 6);  // both, although innermost function and height are the same
  EXPECT_EQ(find(other), 6u);
  EXPECT_EQ(find(stack_), 5u);
}

TEST_F(KnownChainsTest, deep_and_broken_chains_are_not_remembered) {
  Stack deep;
  for (std::size_t i = 0; i < 12; ++i) deep.put(2 + 4 * i, i == 11 ? 0 : 6 + 4 * i, 0x1000 + i);
  ASSERT_EQ(deep.walk(2).size(), 12u);
  chains_->remember(deep.from(2), 8);
  EXPECT_EQ(find(deep, 2), 0u);
  Stack broken;
  broken.put(10, 20, 0x1000);
  broken.put(20, 40, 0);
  ASSERT_EQ(broken.walk(10).size(), 1u);
  chains_->remember(broken.from(10), 9);
  EXPECT_EQ(find(broken), 0u);
}

}  // namespace
}  // namespace weft::trace
