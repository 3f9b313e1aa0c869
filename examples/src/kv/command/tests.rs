//! The table and what `COMMAND` makes of it.

use super::{TABLE, find};
use crate::kv::tests::Server;

#[test]
fn every_command_is_found_in_any_case() {
    for spec in TABLE {
        assert!(
            find(spec.name.as_bytes()).is_some_and(|found| std::ptr::eq(found, spec)),
            "{}",
            spec.name
        );
        assert!(find(spec.name.to_ascii_uppercase().as_bytes()).is_some(), "{}", spec.name);
        assert_eq!(spec.name, spec.name.to_ascii_lowercase());
    }
    assert!(find(b"").is_none() && find(b"nope").is_none() && find(&[b'a'; 100]).is_none());
}

#[test]
fn nothing_but_a_letter_stands_for_it() {
    for byte in 0..=u8::MAX {
        let is_get = byte.eq_ignore_ascii_case(&b't');
        assert_eq!(find(&[b'g', b'e', byte]).is_some(), is_get, "{byte}");
        // Not what fills up a short name either.
        assert!(find(&[b'g', b'e', b't', byte]).is_none_or(|spec| spec.name.len() == 4), "{byte}");
    }
}

#[test]
fn the_table_describes_itself() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(server.say(&mut client, "COMMAND COUNT"), format!(":{}", TABLE.len()));
    let get = server.say(&mut client, "COMMAND INFO get nope");
    assert!(get.starts_with("*2 *10 $3 get :2 *2 +readonly +fast :1 :1 :1 "), "{get}");
    assert!(get.ends_with("*0 $-1"), "{get}");
    assert!(server.say(&mut client, "COMMAND HELP").starts_with("*15 +COMMAND <subcommand> "));
    assert!(server.say(&mut client, "COMMAND DOCS get").starts_with("*2 $3 get *6 $7 summary"));
    assert_eq!(server.say(&mut client, "COMMAND GETKEYS mset a 1 b 2"), "*2 $1 a $1 b");
    assert_eq!(server.say(&mut client, "COMMAND LIST FILTERBY PATTERN xyz*"), "*0");
    for (name, flags) in [
        ("get", "*2 +RO +access"),
        ("exists", "*1 +RO"),
        ("set", "*4 +RW +access +update +variable_flags"),
        ("mset", "*2 +OW +update"),
        ("setnx", "*2 +OW +insert"),
        ("del", "*2 +RM +delete"),
        ("lpop", "*3 +RW +access +delete"),
        ("srem", "*2 +RW +delete"),
        ("incr", "*3 +RW +access +update"),
        ("rpush", "*2 +RW +insert"),
        ("hset", "*2 +RW +update"),
    ] {
        let told = server.say(&mut client, &format!("COMMAND INFO {name}"));
        assert!(told.contains(&format!(" $5 flags {flags} $12 begin_search ")), "{name}: {told}");
    }
    let three = server.say(&mut client, "HELLO 3\nCOMMAND INFO get nope");
    assert!(three.contains(" ~0 ~1 %3 $5 flags ~") && three.ends_with(":0 ~0 _"), "{three}");
}

#[test]
fn errors_repeat_the_client_with_care() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(
        server.say(&mut client, "foo a \"b\\r\\n\""),
        "-ERR unknown command 'foo', with args beginning with: 'a' 'b  ' ".trim_end()
    );
    assert_eq!(server.say(&mut client, "get"), "-ERR wrong number of arguments for 'get' command");
    assert_eq!(
        server.say(&mut client, "client foo"),
        "-ERR unknown subcommand 'foo'. Try CLIENT HELP."
    );
    assert_eq!(
        server.feed(&mut client, b"client \"\\xff\\r\\n\"\r\n").0,
        b"-ERR unknown subcommand '\xff  '. Try CLIENT HELP.\r\n"
    );
    // Bytes as they are, up to a zero byte.
    for (command, error) in [
        ("EXPIRE k 1", "Unsupported option W"),
        ("CLIENT LIST TYPE", "Unknown client type 'W'"),
        ("CLIENT KILL USER", "No such user 'W'"),
        ("HELLO 3", "Syntax error in HELLO option 'W'"),
    ] {
        let (reply, _) =
            server.feed(&mut client, format!("{command} \"a\\xff\\x00b\"\r\n").as_bytes());
        let (before, after) = error.split_once('W').unwrap();
        let expected = [b"-ERR ", before.as_bytes(), b"a\xff", after.as_bytes(), b"\r\n"].concat();
        assert_eq!(reply, expected, "{command}");
    }
    assert_eq!(
        server.feed(&mut client, b"CONFIG SET \"a\\xff\\x00b\" 1\r\n").0,
        b"-ERR Unknown option or number of arguments for CONFIG SET - 'a\xff'\r\n"
    );
    assert_eq!(
        server.say(&mut client, "SELECT 99999999999\nSELECT 16\nSELECT a"),
        "-ERR value is out of range, value must between -2147483648 and 2147483647 \
         -ERR DB index is out of range -ERR value is not an integer or out of range"
    );
    assert_eq!(
        server.say(&mut client, "client setname"),
        "-ERR wrong number of arguments for 'client|setname' command"
    );
}
