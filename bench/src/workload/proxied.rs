//! Much data from a host that a confined command reaches through its proxy, beside the same
//! download without a confinement.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::Result;
use bashd::config::Preset;
use bashd::plan::Network;
use bashd::{Engine, Request};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// At least half of what goes through without it.
const BAR: f64 = 2.0;

/// Bytes of a download; when only trying the harness, fewer.
const BYTES: usize = 1 << 30;
const FEW_BYTES: usize = 16 << 20;

/// Pairs of a round.
const PAIRS: usize = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let bytes = bench.effort.choose(BYTES, FEW_BYTES);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = serve(client, bytes);
        }
    });
    let free = bench.engine(|_| {})?;
    let confined = bench.engine(|config| {
        config.confinement.preset = Some(Preset::WorkspaceNet);
        config.confinement.workspace = Some(bench.home().to_owned());
        config.confinement.network = Some(Network::Named);
        config.confinement.hosts = vec![format!("data.test:{port}")];
        config.confinement.resolve = vec!["data.test=127.0.0.1".to_owned()];
    })?;
    let call = |engine: &Engine, host: &str| {
        let command = format!("curl -fsS -o /dev/null http://{host}:{port}/");
        Ok(bench
            .call(engine, Request::new(command).cwd(bench.home()))?
            .0)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::pause,
        || call(&confined, "data.test"),
        || call(&free, "127.0.0.1"),
    )?;
    let title = format!("{} MiB through the proxy", bytes >> 20);
    Ok(vec![Row::ratio(
        &title,
        "the same without it",
        &compared,
        BAR,
    )])
}

/// Sends so many bytes.
fn serve(mut client: TcpStream, bytes: usize) -> std::io::Result<()> {
    let piece = vec![0; 1 << 20];
    client.read(&mut [0; 4096]).map(drop)?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n");
    client.write_all(head.as_bytes())?;
    for _ in 0..bytes / piece.len() {
        client.write_all(&piece)?;
    }
    Ok(())
}
