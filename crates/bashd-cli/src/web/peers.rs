//! Whose a connection over the loopback address is: the kernel knows the user of either end.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};

/// Whether a connection is of this user, or of root, who can do anything anyway. What can't be
/// found out is left to the token.
pub(super) fn is_own(peer: SocketAddr, ours: SocketAddr) -> bool {
    let (SocketAddr::V4(peer), SocketAddr::V4(ours)) = (peer, ours) else {
        return true;
    };
    let Ok(table) = fs::read_to_string("/proc/self/net/tcp") else {
        return true;
    };
    let own = rustix::process::geteuid().as_raw();
    user_of(&table, peer, ours).is_some_and(|user| user == own || user == 0)
}

/// The user of the socket that is at `peer` and speaks to `ours`.
fn user_of(table: &str, peer: SocketAddrV4, ours: SocketAddrV4) -> Option<u32> {
    let (peer, ours) = (written(peer), written(ours));
    table.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_it = words.next()? == peer && words.next()? == ours;
        is_it.then(|| words.nth(4)?.parse().ok())?
    })
}

/// An address as the kernel's table writes it.
fn written(address: SocketAddrV4) -> String {
    let ip = u32::from_ne_bytes(address.ip().octets());
    format!("{ip:08X}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernels_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1\n\
            1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1\n";
        let at = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        assert_eq!(user_of(table, at(50000), at(8080)), Some(1001));
        assert_eq!(user_of(table, at(50001), at(8080)), None);
    }

    #[test]
    fn our_own_connection_is_ours() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let stream = TcpStream::connect(ours).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        assert!(is_own(peer, ours));
        assert!(!is_own("127.0.0.1:1".parse().unwrap(), ours), "nobody's");
        drop((accepted, stream));
    }
}
