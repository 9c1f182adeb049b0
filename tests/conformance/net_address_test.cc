// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <weft/net.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/sockets.h"

// Addresses that are none: every function with an error_code says so through it, and never reaches a socket that nobody named.
namespace {

using namespace weft::test;
using namespace std::string_literals;
namespace net = weft::net;

class NetAddress : public Net {};
WEFT_AT_ALL_CONFIGURATIONS(NetAddress);

// What each function says of an address. None may throw.
std::error_code error_of_dial(const std::string& network, const std::string& where) {
  std::error_code error;
  EXPECT_FALSE(net::dial(network, where, error)) << where;
  std::error_code with_limit;
  EXPECT_FALSE(net::dial(network, where, 5s, with_limit)) << where;
  EXPECT_EQ(error, with_limit) << where;
  std::error_code with_context;
  EXPECT_FALSE(net::dial(weft::context::background(), network, where, with_context)) << where;
  EXPECT_EQ(error, with_context) << where;
  return error;
}
std::error_code error_of_listen(const std::string& network, const std::string& where) {
  std::error_code error;
  EXPECT_FALSE(net::listen(network, where, {}, error)) << where;
  return error;
}
std::error_code error_of_listen_packet(const std::string& network, const std::string& where) {
  std::error_code error;
  EXPECT_FALSE(net::listen_packet(network, where, error)) << where;
  return error;
}

TEST_P(NetAddress, a_port_beyond_65535_is_refused_not_reduced) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    const std::string port = std::to_string(65536 + listener.port());
    for (const std::string& where : {"127.0.0.1:" + port, "localhost:" + port, "127.0.0.1:65536"s, ":99999"s,
                                     "127.0.0.1:18446744073709551696"s, "127.0.0.1:4294967376"s}) {
      EXPECT_EQ(error_of_dial("tcp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_listen("tcp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_dial("udp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_listen_packet("udp", where), std::errc::invalid_argument) << where;
      EXPECT_NE(error_of_dial("tcp", where).message().find("65535"), std::string::npos) << "it says what is wrong";
      EXPECT_THROW(net::dial("tcp", where), std::invalid_argument);
      EXPECT_THROW(net::listen("tcp", where), std::invalid_argument);
      EXPECT_THROW(net::listen_packet("udp", where), std::invalid_argument);
    }
    EXPECT_TRUE(net::dial("tcp", "127.0.0.1:000" + std::to_string(listener.port()))) << "zeros in front are harmless";
  });
}

TEST_P(NetAddress, malformed_addresses_come_through_the_error_code) {
  weft::run([] {
    for (const std::string& where : {""s,
                                     "no port"s,
                                     "127.0.0.1"s,
                                     "127.0.0.1:"s,
                                     ":"s,
                                     "::1:80"s,
                                     "[::1]"s,
                                     "[::1]:"s,
                                     "[::1]80"s,
                                     "[::1:80"s,
                                     "::1]:80"s,
                                     "[[::1]]:80"s,
                                     "a[b]:80"s,
                                     "127.0.0.1:-1"s,
                                     "127.0.0.1:+80"s,
                                     "127.0.0.1: 80"s,
                                     "127.0.0.1:80 "s,
                                     "127.0.0.1:-65456"s,
                                     "127.0.0.1:80\0junk"s,
                                     "127.0.0.1\0:80"s,
                                     "127.0.0.1:http\0junk"s}) {
      EXPECT_EQ(error_of_dial("tcp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_dial("udp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_listen("tcp", where), std::errc::invalid_argument) << where;
      EXPECT_EQ(error_of_listen_packet("udp", where), std::errc::invalid_argument) << where;
      EXPECT_THROW(net::dial("tcp", where, 5s), std::invalid_argument) << where;
      EXPECT_THROW(net::dial(weft::context::background(), "tcp", where), std::invalid_argument) << where;
    }
  });
}

TEST_P(NetAddress, names_of_services_zones_and_hosts_that_do_not_exist_are_errors) {
  weft::run([] {
    for (const char* where :
         {"127.0.0.1:no-such-service", "127.0.0.1:0x50", "127.0.0.1:80http", "[fe80::1%nosuchif]:80"}) {
      EXPECT_TRUE(error_of_dial("tcp", where)) << where;
      EXPECT_TRUE(error_of_listen("tcp", where)) << where;
      EXPECT_TRUE(error_of_listen_packet("udp", where)) << where;
    }
    EXPECT_TRUE(error_of_dial("tcp4", "[::1]:80"));
    EXPECT_TRUE(error_of_listen("tcp6", "127.0.0.1:0"));
  });
}

TEST_P(NetAddress, unknown_networks_come_through_the_error_code) {
  weft::run([] {
    for (const char* network : {"", "smoke", "TCP", "tcp5", "ip4"}) {
      EXPECT_EQ(error_of_dial(network, "127.0.0.1:80"), std::errc::invalid_argument) << network;
      EXPECT_EQ(error_of_listen(network, "127.0.0.1:0"), std::errc::invalid_argument) << network;
      EXPECT_EQ(error_of_listen_packet(network, "127.0.0.1:0"), std::errc::invalid_argument) << network;
      EXPECT_THROW(net::listen(network, "127.0.0.1:0"), std::invalid_argument) << network;
    }
    EXPECT_EQ(error_of_listen("udp", "127.0.0.1:0"), std::errc::invalid_argument) << "no stream";
    EXPECT_EQ(error_of_listen("unixgram", unix_name()), std::errc::invalid_argument) << "no stream";
    EXPECT_EQ(error_of_listen_packet("tcp", "127.0.0.1:0"), std::errc::invalid_argument) << "no datagrams";
    EXPECT_EQ(error_of_listen_packet("unix", unix_name()), std::errc::invalid_argument) << "no datagrams";
  });
}

TEST_P(NetAddress, paths_that_no_socket_can_have_come_through_the_error_code) {
  weft::run([] {
    for (const std::string& path : {""s, "/" + std::string(107, 'x'), "@" + std::string(108, 'x'), "/tmp/a\0b"s}) {
      EXPECT_EQ(error_of_dial("unix", path), std::errc::invalid_argument) << path;
      EXPECT_EQ(error_of_dial("unixgram", path), std::errc::invalid_argument) << path;
      EXPECT_EQ(error_of_listen("unix", path), std::errc::invalid_argument) << path;
      EXPECT_EQ(error_of_listen_packet("unixgram", path), std::errc::invalid_argument) << path;
      EXPECT_THROW(net::listen("unix", path), std::invalid_argument) << path;
    }
    EXPECT_EQ(error_of_dial("unix", "/nonexistent/" + std::string(90, 'x')), std::errc::no_such_file_or_directory);
  });
}

TEST_P(NetAddress, lookups_of_what_is_no_name_come_through_the_error_code) {
  weft::run([] {
    for (const std::string& name : {""s, "a\0b"s}) {
      std::error_code error;
      EXPECT_TRUE(net::lookup_host(name, error).empty());
      EXPECT_EQ(error, std::errc::invalid_argument);
      EXPECT_TRUE(net::lookup_host(weft::context::background(), name, error).empty());
      EXPECT_EQ(error, std::errc::invalid_argument);
      EXPECT_THROW(net::lookup_host(name), std::invalid_argument);
    }
    std::error_code error = std::make_error_code(std::errc::io_error);
    EXPECT_FALSE(net::lookup_host("localhost", error).empty());
    EXPECT_FALSE(error) << "cleared";
  });
}

TEST(NetParseAddress, prints_and_parses) {
  for (const char* text : {"127.0.0.1:80", "[::1]:443", "[fe80::1%lo]:1", "[fe80::1%lo]:65535"})
    EXPECT_EQ(net::parse_address("tcp", text).to_string(), text);
  EXPECT_EQ(net::parse_address("unix", "/run/x").to_string(), "/run/x");
  EXPECT_EQ(net::parse_address("unix", "@abstract").to_string(), "@abstract");
  EXPECT_EQ(net::address().to_string(), "");
  EXPECT_LT(net::parse_address("tcp", "127.0.0.1:1"), net::parse_address("tcp", "127.0.0.1:2"));
}

TEST(NetParseAddress, refuses_what_is_no_numeric_address) {
  for (const std::string& bad : {""s, "1.2.3.4"s, "1.2.3.4:x"s, "1.2.3.4:70000"s, "1.2.3.4:65536"s, "1.2.3.4:-1"s,
                                 "1.2.3.4:+1"s, "1.2.3.4:http"s, "::1:80"s, "localhost:80"s, ":80"s,
                                 "[fe80::1%nosuchif]:1"s, "[fe80::1%1x]:1"s, "[fe80::1%]:1"s, "1.2.3.4:80\0x"s}) {
    EXPECT_THROW(net::parse_address("tcp", bad), std::invalid_argument) << bad;
    std::error_code error;
    EXPECT_FALSE(net::parse_address("tcp", bad, error)) << bad;
    EXPECT_EQ(error, std::errc::invalid_argument) << bad;
  }
  EXPECT_THROW(net::parse_address("unix", std::string(200, 'x')), std::invalid_argument);
  std::error_code error;
  EXPECT_FALSE(net::parse_address("smoke", "1.2.3.4:80", error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  EXPECT_TRUE(net::parse_address("tcp", "1.2.3.4:80", error));
  EXPECT_FALSE(error);
}

}  // namespace
