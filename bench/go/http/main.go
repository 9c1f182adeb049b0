// SPDX-License-Identifier: MIT

// http: net/http answering one short text, with the fields that weft's example sends; says where it listens, then serves until it
// is killed. The number of Ps comes from GOMAXPROCS.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"weftbench/bench"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		bench.Fail(err.Error())
	}
	fmt.Fprintln(os.Stderr, "listening on", listener.Addr())
	http.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "go")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "Hello, World!")
	})
	bench.Fail(http.Serve(listener, nil).Error())
}
