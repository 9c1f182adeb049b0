// SPDX-License-Identifier: MIT

// echo: a TCP server with one goroutine per connection; prints its port, then serves until it is killed.
package main

import (
	"net"

	"weftbench/bench"
)

func serve(connection net.Conn, size int) {
	defer connection.Close()
	buffer := make([]byte, size)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func main() {
	size := bench.Int("size", 1024)
	bench.Start()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		bench.Fail(err.Error())
	}
	bench.Report("port", float64(listener.Addr().(*net.TCPAddr).Port))
	for {
		connection, err := listener.Accept()
		if err != nil {
			bench.Fail(err.Error())
		}
		go serve(connection, *size)
	}
}
