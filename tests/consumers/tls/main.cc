// SPDX-License-Identifier: MIT
#include <weft/tls.h>
#include <weft/weft.h>

#include <cstdio>
#include <stdexcept>
#include <string>

int main() {
  return weft::run([] {
    auto [one, other] = weft::net::pipe();
    try {
      weft::tls::conn client(std::move(one), {}, weft::tls::role::client);
    } catch (const std::invalid_argument& error) {
      const std::string why = error.what();
      std::printf("%s: %s\n", weft::tls::category().name(), why.substr(why.find("a client"), 26).c_str());
      return WEFT_HAS_TLS ? 0 : 1;
    }
    return 1;
  });
}
