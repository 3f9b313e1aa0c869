//! `greenroom`: makes the keys of nodes, and looks for what is wrong with the machine that one runs on.

#![forbid(unsafe_code)]

mod doctor;
mod keygen;

use lexopt::{Arg, Parser, ValueExt};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
greenroom: keys of nodes, and a look at the machine that one runs on

Usage: greenroom keygen [--cluster] FILE
       greenroom doctor [--rdma] [NODE.toml]

  keygen FILE            write a new secret key to FILE, for its owner alone, and print what others need
  keygen --cluster FILE  write a key that all nodes of a cluster share
  doctor [NODE.toml]     say what is slow or wrong here, and how to mend it; with the file of a node, also on the
                         way to its peers. Exit code 1 if something must be mended
  doctor --rdma          look at the RDMA devices, too; with the file of a node, at those that it may use
  --help, --version      print this, or the version, and exit
";

/// What the command line says.
enum Command {
    Keygen { cluster: bool, file: PathBuf },
    Doctor { rdma: bool, file: Option<PathBuf> },
    Print(String),
}

fn main() -> io::Result<ExitCode> {
    match parse(Parser::from_env()) {
        Ok(Command::Keygen { cluster, file }) => keygen::run(cluster, &file),
        Ok(Command::Doctor { rdma, file }) => doctor::run(rdma, file.as_deref()),
        Ok(Command::Print(text)) => {
            io::stdout().write_all(text.as_bytes()).map(|()| ExitCode::SUCCESS)
        }
        Err(error) => {
            writeln!(io::stderr(), "greenroom: {error}\nTry: greenroom --help")?;
            Ok(ExitCode::from(2))
        }
    }
}

fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let (mut command, mut file, mut cluster, mut rdma) = (None, None, false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Print(HELP.to_owned())),
            Arg::Short('V') | Arg::Long("version") => {
                return Ok(Command::Print(format!("greenroom {}\n", env!("CARGO_PKG_VERSION"))));
            }
            Arg::Long("rdma") if command.as_deref() == Some("doctor") => rdma = true,
            Arg::Long("cluster") if command.as_deref() == Some("keygen") => cluster = true,
            Arg::Value(word) if command.is_none() => command = Some(word.string()?),
            Arg::Value(word) if file.is_none() => file = Some(PathBuf::from(word)),
            Arg::Short(_) | Arg::Long(_) | Arg::Value(_) => return Err(argument.unexpected()),
        }
    }
    match command.as_deref() {
        Some("keygen") => {
            let file = file.ok_or("keygen needs the FILE that the key is written to")?;
            Ok(Command::Keygen { cluster, file })
        }
        Some("doctor") => Ok(Command::Doctor { rdma, file }),
        Some(other) => Err(format!("there is no command {other:?}").into()),
        None => Err("which command?".into()),
    }
}
