//! Runs one program of one peer by hand.
//!
//! ```text
//! cargo run --release -p greenroom-peers -- counting/tokio 1000000
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the figure is the program's purpose")]

fn main() {
    let mut args = std::env::args().skip(1);
    let (wanted, n) = (args.next(), args.next().and_then(|n| n.parse::<u32>().ok()));
    for program in greenroom_peers::programs() {
        let name = format!("{program:?}");
        match (&wanted, n) {
            (Some(wanted), Some(n)) if *wanted == name => {
                println!("{:?} per operation", (program.run)(n.into()) / n);
            }
            (Some(_), Some(_)) => {}
            _ => println!("{name}"),
        }
    }
}
