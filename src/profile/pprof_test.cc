// SPDX-License-Identifier: MIT
#include "profile/pprof.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "profile/gzip.h"
#include "profile/shown_frames.h"

namespace {

using namespace weft::profile;

// An inflater for the fixed codes, written from RFC 1951's tables and not from the encoder's.
class Inflater {
 public:
  explicit Inflater(const std::string& bytes) : bytes_(bytes) {}
  std::string run(std::size_t at) {
    at_ = at * 8;
    EXPECT_EQ(bits(1), 1u);
    EXPECT_EQ(bits(2), 1u);
    std::string out;
    for (unsigned symbol; (symbol = literal_or_length()) != 256;) {
      if (symbol < 256) {
        out += static_cast<char>(symbol);
        continue;
      }
      static const unsigned base[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83,
                                      99, 115, 131, 163, 195, 227, 258};
      static const unsigned extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5,
                                       5, 0};
      static const unsigned far[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
                                     1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
      static const unsigned far_extra[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11,
                                           11, 12, 12, 13, 13};
      std::size_t length = base[symbol - 257] + bits(extra[symbol - 257]);
      const unsigned code = code_bits(5);
      const std::size_t distance = far[code] + bits(far_extra[code]);
      if (distance > out.size()) {
        ADD_FAILURE() << "a match from before the beginning";
        return out;
      }
      for (; length > 0; --length) out += out[out.size() - distance];
    }
    end_ = (at_ + 7) / 8;
    return out;
  }
  std::size_t end() const { return end_; }

 private:
  unsigned bit() {
    const unsigned value = at_ / 8 < bytes_.size() ? static_cast<unsigned char>(bytes_[at_ / 8]) >> (at_ % 8) & 1 : 0;
    ++at_;
    return value;
  }
  unsigned bits(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }
  unsigned code_bits(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i) value = value << 1 | bit();
    return value;
  }
  unsigned literal_or_length() {
    unsigned code = code_bits(7);
    if (code <= 0x17) return 256 + code;
    code = code << 1 | bit();
    if (code >= 0x30 && code <= 0xbf) return code - 0x30;
    if (code >= 0xc0 && code <= 0xc7) return 280 + code - 0xc0;
    code = code << 1 | bit();
    return 144 + code - 0x190;
  }
  const std::string& bytes_;
  std::size_t at_ = 0, end_ = 0;
};

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::uint32_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
  return word;
}

std::string gunzip(const std::string& file) {
  EXPECT_EQ(file.substr(0, 3), "\x1f\x8b\x08");
  Inflater inflater(file);
  const std::string bytes = inflater.run(10);
  EXPECT_EQ(word_at(file, inflater.end()), crc32(bytes));
  EXPECT_EQ(word_at(file, inflater.end() + 4), bytes.size());
  EXPECT_EQ(file.size(), inflater.end() + 8);
  return bytes;
}

TEST(Gzip, crc_is_that_of_the_standard) { EXPECT_EQ(crc32("123456789"), 0xcbf43926u); }

TEST(Gzip, what_was_compressed_comes_back) {
  std::mt19937 random(1);
  std::vector<std::string> inputs{"", "a", std::string(100'000, 'x'), "abcabcabcabcabcabc"};
  for (std::size_t size : {10u, 3000u, 70'000u}) {
    std::string noise, repeats;
    while (noise.size() < size) noise += static_cast<char>(random());
    while (repeats.size() < size) repeats += "word" + std::to_string(random() % 100);
    inputs.insert(inputs.end(), {noise, repeats, repeats + noise + repeats});
  }
  for (const std::string& input : inputs) EXPECT_EQ(gunzip(gzip(input)), input) << input.size();
  EXPECT_LT(gzip(std::string(100'000, 'x')).size(), 1000u);
}

// --- profile.proto ---

struct Message {
  std::multimap<unsigned, std::uint64_t> numbers;
  std::multimap<unsigned, std::string> texts;
  std::uint64_t number(unsigned field) const { return numbers.contains(field) ? numbers.find(field)->second : 0; }
  std::vector<std::string> all(unsigned field) const {
    std::vector<std::string> found;
    for (auto [at, end] = texts.equal_range(field); at != end; ++at) found.push_back(at->second);
    return found;
  }
};

std::uint64_t varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

Message parse(const std::string& bytes) {
  Message message;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t tag = varint(bytes, at);
    const auto field = static_cast<unsigned>(tag >> 3);
    if ((tag & 7) == 0) {
      message.numbers.emplace(field, varint(bytes, at));
    } else {
      EXPECT_EQ(tag & 7, 2u);
      const std::uint64_t size = varint(bytes, at);
      message.texts.emplace(field, bytes.substr(at, size));
      at += size;
    }
  }
  return message;
}

std::vector<std::uint64_t> packed(const std::string& bytes) {
  std::vector<std::uint64_t> values;
  for (std::size_t at = 0; at < bytes.size();) values.push_back(varint(bytes, at));
  return values;
}

__attribute__((noinline)) void a_function_of_the_test() { asm volatile(""); }
__attribute__((noinline)) void its_caller() { asm volatile(""); }

void* inside(void (*function)()) { return reinterpret_cast<char*>(function); }

Profile example() {
  Profile profile({{"samples", "count"}, {"cpu", "nanoseconds"}});
  profile.set_period({"cpu", "nanoseconds"}, 10'000'000);
  profile.set_time(123, 456);
  const SampleKey key{{inside(a_function_of_the_test), inside(its_caller)}, {{"user", "<alice>"}}, "root"};
  profile.add(key, {1, 10'000'000});
  profile.add(key, {2, 20'000'000});
  profile.add({{inside(its_caller)}, {}}, {1, 10'000'000});
  return profile;
}

TEST(Pprof, a_decoder_finds_samples_functions_and_labels) {
  const Message file = parse(gunzip(example().encode()));
  const std::vector<std::string> strings = file.all(6);
  EXPECT_EQ(strings.at(0), "");
  EXPECT_EQ(file.all(1).size(), 2u);
  EXPECT_EQ(strings.at(parse(file.all(1).at(1)).number(1)), "cpu");
  EXPECT_EQ(strings.at(parse(file.all(1).at(1)).number(2)), "nanoseconds");
  EXPECT_EQ(file.number(9), 123u);
  EXPECT_EQ(file.number(10), 456u);
  EXPECT_EQ(file.number(12), 10'000'000u);

  std::map<std::uint64_t, std::string> functions, locations;
  for (const std::string& text : file.all(5)) {
    const Message function = parse(text);
    functions[function.number(1)] = strings.at(function.number(2));
  }
  for (const std::string& text : file.all(4)) {
    const Message location = parse(text);
    locations[location.number(1)] = functions.at(parse(location.all(4).at(0)).number(1));
  }
  std::map<std::string, std::vector<std::uint64_t>> values;
  std::map<std::string, std::string> labels;
  for (const std::string& text : file.all(2)) {
    const Message sample = parse(text);
    std::string stack;
    for (const std::uint64_t id : packed(sample.all(1).at(0))) stack += locations.at(id) + ";";
    values[stack] = packed(sample.all(2).at(0));
    for (const std::string& one : sample.all(3)) {
      const Message label = parse(one);
      labels[stack] += strings.at(label.number(1)) + "=" + strings.at(label.number(2));
    }
  }
  const std::string space = "(anonymous namespace)::";
  const std::string whole = space + "a_function_of_the_test;" + space + "its_caller;root;";
  EXPECT_EQ(values.at(whole), (std::vector<std::uint64_t>{3, 30'000'000}));
  EXPECT_EQ(labels.at(whole), "user=<alice>");
  EXPECT_EQ(values.at(space + "its_caller;"), (std::vector<std::uint64_t>{1, 10'000'000}));
}

TEST(Pprof, go_tool_pprof_reads_it) {
  if (std::system("go version > /dev/null 2>&1") != 0) GTEST_SKIP() << "go is not installed";
  const std::string path = testing::TempDir() + "pprof_test." + std::to_string(getpid()) + ".pb.gz";
  std::ofstream(path, std::ios::binary) << example().encode();
  FILE* pipe = popen(("go tool pprof -top -sample_index=cpu " + path + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (char line[512]; std::fgets(line, sizeof line, pipe) != nullptr;) text += line;
  EXPECT_EQ(pclose(pipe), 0) << text;
  EXPECT_NE(text.find("30ms 75.00% 75.00%       30ms 75.00%  (anonymous namespace)::a_function_of_the_test"),
            std::string::npos)
      << text;
  std::remove(path.c_str());
}

TEST(Pprof, a_full_profile_adds_up_what_does_not_fit) {
  Profile profile(std::vector<ValueType>{{"x", "count"}});
  for (std::size_t i = 0; i < Profile::kMaxSamples + 100; ++i) profile.add({{}, {{"i", std::to_string(i)}}}, {1});
  EXPECT_LE(profile.samples().size(), Profile::kMaxSamples + 1);
  EXPECT_EQ(profile.samples().at(SampleKey{}), std::vector<std::int64_t>{100});
}

TEST(Pprof, short_names_are_what_people_look_for) {
  const std::pair<const char*, const char*> cases[] = {
      {"main", "main"},
      {"f(int, std::vector<int> const&)", "f"},
      {"void work<int>(int)", "work"},
      {"ns::type<int>::method(char) const", "ns::type::method"},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}"},
      {"ns::(anonymous namespace)::f(void (*)(int))", "ns::(anonymous namespace)::f"},
      {"operator new(unsigned long)", "operator new"},
      {"a::operator<<(std::ostream&, int)", "a::operator<<"},
      {"memcpy", "memcpy"},
  };
  for (const auto& [function, expected] : cases) EXPECT_EQ(short_name(function), expected) << function;
}

}  // namespace
