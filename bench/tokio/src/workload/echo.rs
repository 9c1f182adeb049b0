// SPDX-License-Identifier: MIT
//! echo: a TCP server with one task per connection; prints its port, then serves until it is killed.
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let size = args.get("size", 1024);
    run(args.procs(), async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        report("port", listener.local_addr().unwrap().port() as f64);
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut buffer = vec![0; size];
                while let Ok(n @ 1..) = connection.read(&mut buffer).await {
                    if connection.write_all(&buffer[..n]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
}
