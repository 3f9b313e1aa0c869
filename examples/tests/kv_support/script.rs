//! A seeded generator of commands: every command of the server, with right and wrong arguments.

/// A repeatable sequence of random numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

/// The commands, as templates: a word in capitals after `$` stands for an argument to be made up, `*` behind a word
/// repeats it one to three times, `|` separates alternatives.
const TEMPLATES: &[&str] = &[
    "SET $KEY $VALUE",
    "SET $KEY $VALUE",
    "SET $KEY $VALUE $SETOPT*",
    "GET $KEY",
    "GET $KEY",
    "SETNX $KEY $VALUE",
    "SETEX $KEY $TTL $VALUE",
    "PSETEX $KEY $PTTL $VALUE",
    "GETSET $KEY $VALUE",
    "GETDEL $KEY",
    "GETEX $KEY",
    "GETEX $KEY PERSIST",
    "GETEX $KEY EX $TTL",
    "GETEX $KEY PXAT $PAT",
    "GETEX $KEY EXAT $AT",
    "GETEX $KEY EX",
    "DEL $KEY*",
    "UNLINK $KEY*",
    "EXISTS $KEY*",
    "TOUCH $KEY*",
    "TYPE $KEY",
    "INCR $KEY",
    "DECR $KEY",
    "INCRBY $KEY $NUMBER",
    "DECRBY $KEY $NUMBER",
    "APPEND $KEY $VALUE",
    "STRLEN $KEY",
    "MGET $KEY*",
    "MSET $KEY $VALUE $KEY $VALUE",
    "MSET $KEY $VALUE $KEY",
    "MSETNX {t}$DIGIT $VALUE {t}$DIGIT $VALUE",
    "EXPIRE $KEY $TTL",
    "EXPIRE $KEY $TTL NX|XX|GT|LT|bad",
    "EXPIRE $KEY $TTL NX XX",
    "EXPIRE $KEY 1000 GT LT",
    "PEXPIRE $KEY $PTTL",
    "EXPIREAT $KEY $AT",
    "PEXPIREAT $KEY $PAT",
    "TTL $KEY",
    "PTTL $KEY",
    "EXPIRETIME $KEY",
    "PEXPIREAT $KEY 9223372036854775807",
    "PEXPIRETIME $KEY",
    "PERSIST $KEY",
    "KEYS *|k*|k[1-3]|k?|{t}*|nope|k1[^0]|\\k1",
    "DBSIZE",
    "LPUSH|RPUSH|LPUSHX|RPUSHX $KEY $VALUE*",
    "LPUSH|RPUSH $KEY $VALUE*",
    "LPOP|RPOP $KEY",
    "LPOP|RPOP $KEY $NUMBER",
    "LPOP|RPOP $KEY 2",
    "LPOP|RPOP $KEY 1 2",
    "LRANGE $KEY $NUMBER $NUMBER",
    "LRANGE $KEY 0 -1",
    "LLEN $KEY",
    "LINDEX $KEY $NUMBER",
    "HSET|HMSET $KEY $FIELD $VALUE $FIELD $VALUE",
    "HSET $KEY $FIELD $VALUE",
    "HSET|HMSET $KEY $FIELD $VALUE $FIELD",
    "HGET $KEY $FIELD",
    "HMGET $KEY $FIELD*",
    "HDEL $KEY $FIELD*",
    "HGETALL|HKEYS|HVALS|HLEN $KEY",
    "HGETALL|HKEYS|HVALS|HLEN $KEY",
    "HEXISTS $KEY $FIELD",
    "SADD $KEY $VALUE*",
    "SADD $KEY $VALUE*",
    "SREM $KEY $VALUE*",
    "SMEMBERS|SCARD $KEY",
    "SISMEMBER $KEY $VALUE",
    "SMISMEMBER $KEY $VALUE $VALUE",
    "SELECT 0|0|0|1|15|16|-1|x",
    "PING",
    "PING $VALUE",
    "PING a b",
    "ECHO $VALUE",
    "MULTI",
    "EXEC",
    "EXEC",
    "DISCARD",
    "WATCH {t}$DIGIT",
    "UNWATCH",
    "FOO|get|SET|lrange|HSET|client|config|quiet $ANY*",
    "GET|SET|MSET|HSET|EXPIRE|SUBSCRIBE|WATCH|PUBLISH",
    "HELLO 2|3|4|x",
    "HELLO 3 AUTH default|bob x",
    "HELLO 2|3 setname abc",
    "HELLO 3 foo",
    "CLIENT GETNAME",
    "CLIENT SETNAME n1|n2",
    "CLIENT SETNAME $BAD",
    "CLIENT SETINFO lib-name x",
    "CLIENT NO-EVICT ON",
    "CLIENT ID x",
    "CLIENT LIST TYPE foo",
    "CONFIG GET save|appendonly|nope",
    "CONFIG SET nope 1",
    "CONFIG RESETSTAT",
    "CONFIG FOO",
    "FLUSHALL BAD",
    "FLUSHDB",
    "RANDOMKEY x",
    "SCAN x",
    "SCAN 0 COUNT 0|x|-1",
    "SCAN 0 FOO",
    "SCAN -1 x",
    "AUTH x",
    "AUTH bob|default x",
    "RESET",
    "COMMAND GETKEYS MSET a 1 b 2",
    "COMMAND GETKEYS ping",
    "COMMAND foo",
    "PUBLISH $FIELD $VALUE",
];

/// Commands that must not stand in a transaction here: they reach over shards, or change the connection.
const OUTSIDE: &[&str] = &[
    "KEYS",
    "DBSIZE",
    "FLUSHDB",
    "FLUSHALL",
    "RANDOMKEY",
    "SCAN",
    "HELLO",
    "SELECT",
    "RESET",
    "MGET",
    "MSET",
    "DEL",
];

/// Makes commands and keeps track of whether they are in a transaction.
pub(crate) struct Script {
    random: Random,
    now_s: u64,
    in_transaction: bool,
}

impl Script {
    /// `now_s` is the time in seconds since 1970.
    pub(crate) fn new(seed: u64, now_s: u64) -> Self {
        Self { random: Random::new(seed), now_s, in_transaction: false }
    }

    /// Returns the next command.
    pub(crate) fn next(&mut self) -> Vec<Vec<u8>> {
        let template = self.random.pick(TEMPLATES);
        // Rare, or there would be nothing to read.
        let template =
            if template == "FLUSHDB" && self.random.below(10) > 0 { "DBSIZE" } else { template };
        let name = template.split([' ', '|']).next().unwrap();
        let is_outside =
            OUTSIDE.contains(&name) || template.contains("$KEY*") || template.contains("MSETNX");
        let template = if self.in_transaction && is_outside { "PING" } else { template };
        let mut command = Vec::new();
        for word in template.split(' ') {
            let (word, repeated) = match word.strip_suffix('*') {
                Some(word) if word.starts_with('$') => (word, 1 + self.random.below(3)),
                _ => (word, 1),
            };
            for _ in 0..repeated {
                self.word(word, &mut command);
            }
        }
        command
    }

    /// Tells what Redis answered, which decides whether a transaction is under way.
    pub(crate) fn answered(&mut self, command: &[Vec<u8>], reply: &[u8]) {
        match command[0].to_ascii_uppercase().as_slice() {
            b"MULTI" if reply.starts_with(b"+OK") => self.in_transaction = true,
            b"EXEC" | b"DISCARD" | b"RESET" => self.in_transaction = false,
            _ => {}
        }
    }

    fn word(&mut self, word: &str, command: &mut Vec<Vec<u8>>) {
        let word = if word.contains('|') {
            self.random.pick(&word.split('|').collect::<Vec<_>>())
        } else {
            word
        };
        let text = match word {
            "$KEY" => self.key(),
            "$VALUE" => return command.push(self.value()),
            "$NUMBER" => self.number().to_owned(),
            "$FIELD" => format!("f{}", self.random.below(9)),
            "{t}$DIGIT" => format!("{{t}}{}", self.random.below(7)),
            "$TTL" => self
                .random
                .pick(&["100", "1000", "5000", "0", "-1", "x", "9223372036854775807"])
                .to_owned(),
            "$PTTL" => self
                .random
                .pick(&["100000", "700000", "0", "-1", "x", "9223372036854775807"])
                .to_owned(),
            "$AT" => self.instant(1),
            "$PAT" => self.instant(1000),
            "$BAD" => "a b".to_owned(),
            // It may be taken for a key, and in a transaction that must lie where the others do.
            "$ANY" if self.in_transaction => self.key(),
            "$ANY" => return command.push(self.value()),
            "$SETOPT" => {
                let option = self
                    .random
                    .pick(&["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "exat", "PXAT", "bogus"]);
                command.push(option.into());
                match option {
                    "EX" => self.word("$TTL", command),
                    "PX" => self.word("$PTTL", command),
                    // Not in the past: when Redis stops counting such a key is a matter of chance.
                    "exat" => command.push((self.now_s + 1000).to_string().into_bytes()),
                    "PXAT" => command.push(((self.now_s + 1000) * 1000).to_string().into_bytes()),
                    _ => {}
                }
                return;
            }
            other => other.to_owned(),
        };
        command.push(text.into_bytes());
    }

    fn key(&mut self) -> String {
        if self.in_transaction || self.random.below(3) > 0 {
            return format!("{{t}}{}", self.random.below(7));
        }
        format!("k{}", self.random.below(13))
    }

    fn value(&mut self) -> Vec<u8> {
        let fixed =
            ["1", "5", "-3", "hello", "", "9223372036854775807", "\r\n\0", "007", "3.5", "\u{e9}"];
        match self.random.below(14) {
            0 | 1 => (self.random.below(2000)).to_string().into_bytes(),
            2 => vec![b'x'; usize::try_from(self.random.below(200)).unwrap()],
            _ => self.random.pick(&fixed).into(),
        }
    }

    fn number(&mut self) -> &'static str {
        self.random.pick(&[
            "0",
            "1",
            "2",
            "-1",
            "-2",
            "10",
            "100000",
            "abc",
            "",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "1.5",
        ])
    }

    fn instant(&mut self, per_second: u64) -> String {
        match self.random.below(4) {
            0 => "0".to_owned(),
            1 => ((self.now_s - 100) * per_second).to_string(),
            2 => ((self.now_s + 1000) * per_second).to_string(),
            _ => ((self.now_s + 5000) * per_second).to_string(),
        }
    }
}
