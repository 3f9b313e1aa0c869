//! What `perftest` says of the device.

use super::Failure;
use std::process::{Child, Command, Output, Stdio};

/// A device, and how its other end is reached, which is itself.
pub(super) struct Device<'a> {
    pub(super) name: &'a str,
    pub(super) gid_index: &'a str,
    pub(super) address: &'a str,
}

/// A server, which is ended when nobody needs it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended by itself if all is well.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Device<'_> {
    /// Half of the median time of one there and back, in µs.
    pub(super) fn latency(&self, options: &[&str], count: u32) -> Result<f64, Failure> {
        // bytes, iterations, least, most, typical: in µs
        self.run("ib_send_lat", options, count)?.get(4).copied().ok_or("no median".into())
    }

    /// The time of one message, in µs.
    pub(super) fn message(&self, options: &[&str], count: u32) -> Result<f64, Failure> {
        // bytes, iterations, peak, average, millions of messages a second
        let line = self.run("ib_send_bw", options, count)?;
        let millions = line.get(4).filter(|millions| **millions > 0.0);
        millions.map(|millions| 1.0 / millions).ok_or("no rate".into())
    }

    /// The numbers of the last line that has some.
    fn run(&self, program: &str, options: &[&str], count: u32) -> Result<Vec<f64>, Failure> {
        let command = || {
            let mut command = Command::new(program);
            command.args(["-F", "-d", self.name, "-x", self.gid_index, "-n", &count.to_string()]);
            command.args(options);
            command
        };
        let server = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut server = Server(server);
        loop {
            let Output { status, stdout, stderr } = command().arg(self.address).output()?;
            if status.success() {
                server.0.wait()?;
                let text = String::from_utf8(stdout)?;
                return numbers(&text).ok_or(format!("{program} says {text}").into());
            }
            // The server may not listen yet; where it has ended, there is nobody to wait for.
            if server.0.try_wait()?.is_some() {
                return Err(format!("{program}: {}", String::from_utf8_lossy(&stderr)).into());
            }
        }
    }
}

/// Those of the last line that has nothing else; perftest takes the time between two clock readings, which may be none, for
/// a rate without end.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let number = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite());
    let of = |line: &str| -> Option<Vec<f64>> { line.split_whitespace().map(number).collect() };
    text.lines().rev().find_map(|line| of(line).filter(|all| all.len() >= 5))
}
