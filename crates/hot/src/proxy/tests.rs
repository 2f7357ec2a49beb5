//! The PROXY protocol's head: what is read, what is refused, and that no byte beyond it is taken.

use super::*;
use proptest::prelude::*;

fn whole(bytes: &[u8]) -> Result<Says, Reject> {
    judge_bytes(bytes);
    match read(bytes)? {
        Read::Whole(says) => Ok(says),
        Read::More(more) => panic!("{more} more after {bytes:?}"),
    }
}

fn client(source: &str, destination: &str) -> Says {
    Says::Client { source: source.parse().unwrap(), destination: destination.parse().unwrap() }
}

/// A head of version 2.
fn second(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [&SIGNATURE[..], &[command, family], &len, rest].concat()
}

const FOUR: [u8; 12] = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 0x01, 0xbb];

#[test]
fn version_1() {
    let rows = [
        ("TCP4 192.0.2.1 198.51.100.1 56324 443", client("192.0.2.1:56324", "198.51.100.1:443")),
        ("TCP4 0.0.0.0 0.0.0.0 0 0", client("0.0.0.0:0", "0.0.0.0:0")),
        ("TCP6 2001:db8::1 ::1 1 65535", client("[2001:db8::1]:1", "[::1]:65535")),
        ("TCP6 :: :: 0 0", client("[::]:0", "[::]:0")),
        (
            "TCP6 ffff:f:f:f:f:f:f:f ffff:f:f:f:f:f:f:f 1 1",
            client("[ffff:f:f:f:f:f:f:f]:1", "[ffff:f:f:f:f:f:f:f]:1"),
        ),
        ("UNKNOWN", Says::Nobody),
        ("UNKNOWN ffff:f:f ffff 65535 65535", Says::Nobody),
    ];
    for (line, says) in rows {
        assert_eq!(whole(format!("PROXY {line}\r\n").as_bytes()), Ok(says), "{line}");
    }
}

#[test]
fn version_1_is_strict() {
    for line in [
        "TCP4 192.0.2.1 198.51.100.1 56324",
        "TCP4 192.0.2.1 198.51.100.1 56324 443 x",
        "TCP4  192.0.2.1 198.51.100.1 56324 443",
        "TCP4 192.0.2.1 198.51.100.1 56324 443 ",
        "TCP4 192.0.2.256 198.51.100.1 56324 443",
        "TCP4 ::1 ::1 1 1",
        "TCP6 192.0.2.1 198.51.100.1 1 1",
        "TCP4 192.0.2.1 198.51.100.1 65536 443",
        "TCP4 192.0.2.1 198.51.100.1 056 443",
        "TCP4 192.0.2.1 198.51.100.1 +5 443",
        "TCP4 192.0.2.1 198.51.100.1 -1 443",
        "TCP4 192.0.02.1 198.51.100.1 1 443",
        "UDP4 192.0.2.1 198.51.100.1 1 443",
        "tcp4 192.0.2.1 198.51.100.1 1 443",
        "",
        "TCP4",
        "TCP4 192.0.2.1\t198.51.100.1 1 443",
        "UNKNOWNX",
    ] {
        assert_eq!(read(format!("PROXY {line}\r\n").as_bytes()), Err(Reject::BadProxyHead), "{line:?}");
    }
    for bytes in
        ["GET / HTTP/1.1\r\n", "PROXX", "proxy TCP4", "PROXY\tTCP4", "PROXY UNKNOWN\n", "\n", " PROXY "]
    {
        assert_eq!(read(bytes.as_bytes()), Err(Reject::BadProxyHead), "{bytes:?}");
    }
    let endless = format!("PROXY UNKNOWN {}", "x".repeat(LINE_MAX_BYTES));
    assert_eq!(read(endless.as_bytes()), Err(Reject::BadProxyHead));
    let longest = format!("PROXY UNKNOWN {}\r\n", "x".repeat(LINE_MAX_BYTES - 16));
    assert_eq!(whole(longest.as_bytes()), Ok(Says::Nobody));
}

#[test]
fn version_2() {
    let four = client("192.0.2.1:56324", "198.51.100.1:443");
    assert_eq!(whole(&second(0x21, 0x11, &FOUR)), Ok(four));
    let mut six = [0; 36];
    (six[15], six[31], six[33], six[35]) = (1, 2, 80, 90);
    assert_eq!(whole(&second(0x21, 0x21, &six)), Ok(client("[::1]:80", "[::2]:90")));
    // With fields that nobody knows, an empty one, one for padding.
    let more = [&FOUR[..], &[0x01, 0, 2, b'h', b'2'], &[0xee, 0, 0], &[0x04, 0, 3, 0, 0, 0]].concat();
    assert_eq!(whole(&second(0x21, 0x11, &more)), Ok(four));
    // LOCAL, a health check: whatever stands there. A family that is not said, datagrams, unix sockets.
    for (command, family, rest) in [
        (0x20, 0x00, vec![]),
        (0x20, 0x11, vec![1, 2, 3]),
        (0x20, 0x11, FOUR.to_vec()),
        (0x21, 0x00, vec![]),
        (0x21, 0x12, FOUR.to_vec()),
        (0x21, 0x22, six.to_vec()),
        (0x21, 0x31, vec![0; 216]),
        (0x21, 0x77, vec![9; 9]),
    ] {
        assert_eq!(whole(&second(command, family, &rest)), Ok(Says::Nobody), "{command:x} {family:x}");
    }
}

#[test]
fn version_2_is_strict() {
    let mut other_version = second(0x21, 0x11, &FOUR);
    other_version[12] = 0x11;
    let mut broken_signature = second(0x21, 0x11, &FOUR);
    broken_signature[11] = b'\r';
    let beyond = [second(0x21, 0x11, &FOUR), b"GET".to_vec()].concat();
    let field = |bytes: &[u8]| second(0x21, 0x11, &[&FOUR[..], bytes].concat());
    for (what, bytes) in [
        ("version", other_version),
        ("signature", broken_signature),
        ("beyond", beyond),
        ("command", second(0x22, 0x11, &FOUR)),
        ("short", second(0x21, 0x11, &FOUR[..11])),
        ("short six", second(0x21, 0x21, &FOUR)),
        ("short unix", second(0x21, 0x31, &FOUR)),
        ("half a field", field(&[0x01, 0])),
        ("a field too long", field(&[0x01, 0, 3, 1, 2])),
        ("a checksum of three bytes", field(&[CRC32C, 0, 3, 1, 2, 3])),
        ("too long", second(0x21, 0x11, &vec![0; HEAD_MAX_BYTES])),
    ] {
        assert_eq!(read(&bytes), Err(Reject::BadProxyHead), "{what}");
    }
}

#[test]
fn a_checksum_that_is_there_must_be_right() {
    // The check value of CRC-32/ISCSI.
    assert_eq!(crc32c(b"123456789".iter().copied()), 0xe306_9283);
    let mut head =
        second(0x21, 0x11, &[&FOUR[..], &[0xee, 0, 1, 7, CRC32C, 0, 4, 0, 0, 0, 0, 0x04, 0, 0]].concat());
    let sum = crc32c(head.iter().copied()).to_be_bytes();
    let at = head.len() - 7;
    head[at..at + 4].copy_from_slice(&sum);
    assert_eq!(whole(&head), Ok(client("192.0.2.1:56324", "198.51.100.1:443")));
    // But for the byte that makes it a checksum.
    for n in (16..head.len()).filter(|n| *n != head.len() - 10) {
        let mut broken = head.clone();
        broken[n] ^= 1;
        assert_ne!(read(&broken), Ok(Read::Whole(client("192.0.2.1:56324", "198.51.100.1:443"))), "byte {n}");
    }
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..80), which in 0..4u8) {
        let bytes = match which {
            0 => bytes,
            1 => [&b"PROXY "[..], &bytes].concat(),
            2 => [&SIGNATURE[..], &bytes].concat(),
            _ => second(0x21, 0x11, &[&FOUR[..], &bytes].concat()),
        };
        judge_bytes(&bytes);
    }

    #[test]
    fn every_address_survives(source: (u128, u16), destination: (u128, u16), six: bool) {
        let address = |(ip, port): (u128, u16)| {
            let ip = if six { IpAddr::V6(ip.into()) } else { IpAddr::V4((ip as u32).into()) };
            SocketAddr::new(ip, port)
        };
        let (source, destination) = (address(source), address(destination));
        let family = if six { "TCP6" } else { "TCP4" };
        let line = format!(
            "PROXY {family} {} {} {} {}\r\n", source.ip(), destination.ip(), source.port(), destination.port()
        );
        prop_assert_eq!(whole(line.as_bytes()), Ok(Says::Client { source, destination }));
    }
}
