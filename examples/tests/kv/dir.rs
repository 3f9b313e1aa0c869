//! `kv --dir`: keys outlive the server, however it ends.

#[path = "../kv_support/script.rs"]
mod script;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::kv_support::{Client, Running, address_of, encode, ended, show};
use greenroom_examples::kv::Limits;
use script::{Random, Script};

/// How often the server is killed; set by those who have time.
const KILLS: &str = "GREENROOM_KILLS";
/// Clients that write meanwhile.
const CLIENTS: u64 = 4;
/// How long the server lives after it has come up, at most.
const LIFE_MAX: Duration = Duration::from_millis(60);

/// A folder that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kv-{name}-{}-{number}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The real program, which is killed if the test forgets it.
struct Kv {
    child: Child,
    address: SocketAddr,
}

impl Kv {
    fn command(dir: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kv"));
        let arguments = ["--listen", "127.0.0.1:0", "--workers", "2", "--dir"];
        command.args(arguments).arg(dir);
        // Should it outlive the tests, it does not hold what they print to, and nobody waits for it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let address = address_of(&mut child);
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Kv {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything that a server holds, as text; but for keys that end soon.
fn everything(client: &mut Client) -> Vec<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let mut found = Vec::new();
    for db in 0..16 {
        client.text(&["SELECT", &db.to_string()]);
        let keys = client.text(&["KEYS", "*"]);
        for key in keys.trim_matches(['[', ']']).split(' ').filter(|key| !key.is_empty()) {
            let end = client.text(&["PEXPIRETIME", key]);
            if end.parse::<u128>().is_ok_and(|end| end < now + 120_000) {
                continue;
            }
            let kind = client.text(&["TYPE", key]);
            let value = match kind.as_str() {
                "string" => client.text(&["GET", key]),
                "list" => client.text(&["LRANGE", key, "0", "-1"]),
                kind => {
                    let all = if kind == "hash" { "HGETALL" } else { "SMEMBERS" };
                    let text = client.text(&[all, key]);
                    let mut items: Vec<_> = text.trim_matches(['[', ']']).split(' ').collect();
                    items.sort_unstable();
                    items.join(" ")
                }
            };
            found.push(format!("{db} {key} {kind} {end} {value}"));
        }
    }
    found.sort();
    found
}

#[test]
fn every_command_has_the_same_effect_after_a_restart() {
    for rewrite_bytes_min in [1 << 40, 300] {
        let folder = Folder::new("restart");
        let limits = || Limits { rewrite_bytes_min, ..Limits::default() };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let mut script = Script::new(11, now);
        for round in 0..3 {
            let server = Running::start_in(&folder.0, 3, limits());
            let mut client = server.connect();
            for _ in 0..400 {
                let command = script.next();
                let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
                client.send(&encode(&words));
                let reply = show(&client.reply());
                script.answered(&command, if reply == "OK" { b"+OK" } else { b"" });
            }
            client.text(&["RESET"]);
            let before = everything(&mut client);
            let (base, size) = (server.info("aof_base_size"), server.info("aof_current_size"));
            assert!(size > 0);
            assert_eq!(base > 0, rewrite_bytes_min < 1 << 40, "round {round}");
            // On each of three shards, but for the commands of one turn.
            let log_bytes_max = rewrite_bytes_min.saturating_add(base).saturating_mul(3) + 4_000;
            assert!(size - base < log_bytes_max, "{base} of {size}");
            server.stop();

            let server = Running::start_in(&folder.0, 3, limits());
            let after = everything(&mut server.connect());
            assert_eq!(after, before, "round {round}");
            assert!(after.len() > 3, "there is something to compare: {after:?}");
            server.stop();
        }
    }
}

#[test]
fn without_a_directory_nothing_is_kept() {
    let server = Running::start(1, Limits::default());
    let mut client = server.connect();
    assert_eq!(server.info("aof_enabled"), 0);
    assert_eq!(client.text(&["CONFIG", "GET", "appendonly"]), "[appendonly no]");
    assert!(!client.text(&["INFO", "persistence"]).contains("aof_current_size"));
    server.stop();
}

#[test]
fn a_directory_is_one_servers_with_the_shards_that_it_was_made_for() {
    let folder = Folder::new("dir");
    let server = Kv::start(Kv::command(&folder.0).args(["--shards", "3"]));
    let mut client = Client::connect(server.address);
    assert_eq!(client.text(&["SET", "key", "value"]), "OK");
    assert_eq!(client.text(&["CONFIG", "GET", "appendonly"]), "[appendonly yes]");
    let refused = Kv::command(&folder.0).stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text.contains("already open"), "{text}");
    server.kill();

    let other = ["--shards", "2"];
    let refused = Kv::command(&folder.0).args(other).stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text.contains("--shards 3"), "{text}");

    // Whatever the machine has, the shards are those of the data.
    let server = Kv::start(&mut Kv::command(&folder.0));
    let mut client = Client::connect(server.address);
    assert!(client.text(&["INFO"]).contains("shards:3"));
    assert_eq!(client.text(&["GET", "key"]), "value");
    server.kill();

    for text in ["many", "0", "1025"] {
        fs::write(folder.0.join("shards"), text).unwrap();
        let refused = Kv::command(&folder.0).stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains("not a number of shards"), "{text}");
    }

    // With another number of them it would have the keys, and not find them.
    fs::remove_file(folder.0.join("shards")).unwrap();
    for more in [&["--shards", "2"][..], &[]] {
        let refused = Kv::command(&folder.0).args(more).stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains("shards: this is missing"), "{text}");
    }
    fs::write(folder.0.join("shards"), "3").unwrap();
    let server = Kv::start(&mut Kv::command(&folder.0));
    assert_eq!(Client::connect(server.address).text(&["GET", "key"]), "value");
    server.kill();
}

// Elsewhere a file system may want names that are text.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new("name");
    let dir = folder.0.join(OsStr::from_bytes(b"not \xFF text"));
    let server = Kv::start(&mut Kv::command(&dir));
    assert_eq!(Client::connect(server.address).text(&["SET", "a", "1"]), "OK");
    server.kill();
    assert!(dir.join("shards").exists());
}

#[test]
fn of_two_servers_that_begin_in_a_directory_one_says_how_many_shards_there_are() {
    let folder = Folder::new("two");
    let first = Kv::start(Kv::command(&folder.0).args(["--shards", "2"]));
    // As it was when both looked for it.
    fs::remove_file(folder.0.join("shards")).unwrap();
    let mut second = Kv::command(&folder.0);
    let refused = second.args(["--shards", "3"]).stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text.contains("cannot open the journal"), "{text}");
    assert!(!folder.0.join("shards").exists(), "who does not have the directory writes nothing");
    first.kill();
}

/// What one client knows to be written.
#[derive(Clone, Copy, Default)]
struct Known {
    counted: u64,
    listed: u64,
    both: u64,
}

/// Writes as fast as it can until the server is gone; returns what was acknowledged.
fn write(mut client: Client, number: u64, mut known: Known) -> Known {
    let (counter, list) = (format!("counter{number}"), format!("list{number}"));
    let (one, other) = (format!("{{pair{number}}}a"), format!("{{pair{number}}}b"));
    let mut script = Vec::new();
    let pairs: [&[&str]; 4] = [&["MULTI"], &["INCR", &one], &["INCR", &other], &["EXEC"]];
    for words in pairs {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        script.extend(encode(&words));
    }
    let mut round = || -> std::io::Result<()> {
        loop {
            client.try_send(&encode(&[b"INCR", counter.as_bytes()]))?;
            client.try_reply()?;
            known.counted += 1;
            let next = known.listed.to_string();
            client.try_send(&encode(&[b"RPUSH", list.as_bytes(), next.as_bytes()]))?;
            client.try_reply()?;
            known.listed += 1;
            client.try_send(&script)?;
            for _ in 0..4 {
                client.try_reply()?;
            }
            known.both += 1;
        }
    };
    // It ends when the server does.
    let _ = round();
    known
}

/// Compares what is there with what is known; one more of each may have been on its way.
fn check(client: &mut Client, number: u64, known: Known) -> Known {
    let mut number_at = |key: String| match client.text(&["GET", &key]).as_str() {
        "nil" => 0,
        text => text.parse::<u64>().unwrap(),
    };
    let counted = number_at(format!("counter{number}"));
    let (one, other) =
        (number_at(format!("{{pair{number}}}a")), number_at(format!("{{pair{number}}}b")));
    let listed = client.text(&["LRANGE", &format!("list{number}"), "0", "-1"]);
    let items: Vec<_> =
        listed.trim_matches(['[', ']']).split(' ').filter(|it| !it.is_empty()).collect();
    let expected: Vec<_> = (0..items.len()).map(|item| item.to_string()).collect();
    assert_eq!(items, expected, "every item once, in order");
    assert_eq!(one, other, "a transaction is there as a whole");
    let listed = items.len() as u64;
    for (known, there) in [(known.counted, counted), (known.listed, listed), (known.both, one)] {
        assert!((known..=known + 1).contains(&there), "{known} acknowledged, {there} there");
    }
    Known { counted, listed, both: one }
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_point() {
    let kills: u64 = std::env::var(KILLS).map_or(6, |kills| kills.parse().unwrap());
    let folder = Folder::new("kill");
    let mut random = Random::new(kills);
    let mut known = [Known::default(); CLIENTS as usize];
    for _ in 0..kills {
        let server = Kv::start(&mut Kv::command(&folder.0));
        let address = server.address;
        let writers: Vec<_> = (0..)
            .zip(known)
            .map(|(number, known)| {
                // Here, because the server may be killed before the thread begins.
                let client = Client::connect(address);
                std::thread::spawn(move || write(client, number, known))
            })
            .collect();
        std::thread::sleep(LIFE_MAX * u32::try_from(random.below(1_000)).unwrap() / 1_000);
        server.kill();
        for (known, writer) in known.iter_mut().zip(writers) {
            *known = writer.join().unwrap();
        }
        let server = Kv::start(&mut Kv::command(&folder.0));
        let mut client = Client::connect(server.address);
        for (number, known) in (0..).zip(&mut known) {
            *known = check(&mut client, number, *known);
        }
        server.kill();
    }
    let total: u64 = known.iter().map(|known| known.counted + known.listed + known.both).sum();
    println!("{kills} kills, {total} writes, none lost");
}

#[test]
fn a_server_whose_disk_is_full_ends_and_has_what_it_acknowledged() {
    let folder = Folder::new("full");
    // No file may grow beyond some blocks of 512 bytes, and trying is an error rather than a signal.
    let limited = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
    let kv = Kv::command(&folder.0);
    let mut command = Command::new("sh");
    command.args(["-c", limited]).arg(kv.get_program()).args(kv.get_args());
    let mut server = Kv::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut client = Client::connect(server.address);
    let value = "x".repeat(10_000);
    let mut acknowledged = 0;
    loop {
        let key = format!("key{acknowledged}");
        let sent = client.try_send(&encode(&[b"SET", key.as_bytes(), value.as_bytes()]));
        if sent.and_then(|()| client.try_reply()).is_err() {
            break;
        }
        acknowledged += 1;
        assert!(acknowledged < 10_000, "the limit holds");
    }
    assert_eq!(ended(&mut server.child).code(), Some(1));
    let mut text = String::new();
    std::io::Read::read_to_string(server.child.stderr.as_mut().unwrap(), &mut text).unwrap();
    assert!(text.contains("could not persist"), "{text}");

    let server = Kv::start(&mut Kv::command(&folder.0));
    let mut client = Client::connect(server.address);
    let there = client.text(&["DBSIZE"]).parse::<u64>().unwrap();
    assert!((acknowledged..=acknowledged + 1).contains(&there), "{acknowledged}, {there}");
    assert_eq!(show(&client.call(&["GET", "key0"])), value);
    server.kill();
}
