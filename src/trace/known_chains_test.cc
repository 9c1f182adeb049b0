// SPDX-License-Identifier: MIT
#include "trace/known_chains.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "os/backtrace.h"

namespace weft::trace {
namespace {

constexpr std::uint32_t kGeneration = 7;

// A stack of 64 words with records in it.
class Stack {
 public:
  // A record at that word, whose caller's is at the other; 0: the outermost.
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

// Links of the copy lead into the copy.
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
    chains_->remember(stack_.from(10), kGeneration, 5);
  }
  std::uint32_t find(const Stack& stack, std::size_t at = 10, std::uint32_t generation = kGeneration) {
    const FrameChain chain = stack.from(at);
    const std::uint32_t found = chains_->find(chain.frame, chain.high, generation, hint_);
    std::uint32_t number = 0;
    EXPECT_EQ(chains_->find_there(chain.frame, chain.high, generation, hint_, number), found != 0);
    EXPECT_EQ(number, found);
    return found;
  }
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
  std::uint32_t number = 0;
  ASSERT_EQ(find(stack_), 5u);
#if !WEFT_ASAN && !WEFT_TSAN
  EXPECT_FALSE(chains_->find_there(chain.frame, chain.high, kGeneration, hint_ ^ 1, number));
#endif
  EXPECT_TRUE(chains_->find_there(chain.frame, chain.high, kGeneration, hint_, number));
}

TEST_F(KnownChainsTest, numbers_of_other_generations_are_unknown) {
  EXPECT_EQ(find(stack_, 10, kGeneration + 1), 0u);
  EXPECT_EQ(find(stack_, 10, kGeneration - 1), 0u);
}

// Whatever word of the chain changes, the answer is what walking says: either the same stack or an unknown one.
TEST_F(KnownChainsTest, any_changed_word_of_the_chain_is_noticed) {
  const std::vector<void*> original = stack_.walk(10);
  for (std::size_t at : {10u, 11u, 20u, 21u, 40u, 41u})
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

TEST_F(KnownChainsTest, a_call_from_another_line_of_the_outermost_function_is_another_stack) {
  Stack other = same_on_another_stack(stack_);
  other.word(41) = 0x3008;
  EXPECT_EQ(find(other), 0u);
  chains_->remember(other.from(10), kGeneration, 6);  // both, although innermost function and height are the same
  EXPECT_EQ(find(other), 6u);
  EXPECT_EQ(find(stack_), 5u);
}

TEST_F(KnownChainsTest, deep_and_broken_chains_are_not_remembered) {
  Stack deep;
  for (std::size_t i = 0; i < 12; ++i) deep.put(2 + 4 * i, i == 11 ? 0 : 6 + 4 * i, 0x1000 + i);
  ASSERT_EQ(deep.walk(2).size(), 12u);
  chains_->remember(deep.from(2), kGeneration, 8);
  EXPECT_EQ(find(deep, 2), 0u);
  Stack broken;
  broken.put(10, 20, 0x1000);
  broken.put(20, 40, 0);
  ASSERT_EQ(broken.walk(10).size(), 1u);
  chains_->remember(broken.from(10), kGeneration, 9);
  EXPECT_EQ(find(broken), 0u);
}

}  // namespace
}  // namespace weft::trace
