//! Makes keys.

use greenroom_transports::config::key_file;
use greenroom_transports::secure::entropy::System;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Writes a new key, and prints what goes into the files of nodes.
pub(crate) fn run(cluster: bool, file: &Path) -> io::Result<ExitCode> {
    let Some(name) = file.to_str() else {
        let shown = file.display();
        writeln!(io::stderr(), "greenroom: no node's file can name {shown}, which is not UTF-8")?;
        return Ok(ExitCode::FAILURE);
    };
    let made = if cluster {
        key_file::create_cluster(file, &mut System).map(|()| cluster_lines(name))
    } else {
        key_file::create_node(file, &mut System).map(|public| {
            let shown = toml_text(name);
            format!(
                "The public key is {public}\n\n# in the file of this node\nkey-file = {shown}\n\n\
                 # in the files of others\n[[peer]]\nkey = \"{public}\"\naddress = \"HOST:PORT\"\n"
            )
        })
    };
    match made {
        Ok(text) => io::stdout().write_all(text.as_bytes()).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            writeln!(io::stderr(), "greenroom: {error}")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn cluster_lines(file: &str) -> String {
    let shown = toml_text(file);
    format!(
        "Copy {file} to every node, over a way that nobody else reads.\n\n\
         # in the file of each node\ncluster-key-file = {shown}\n"
    )
}

/// The path as TOML writes a text.
fn toml_text(file: &str) -> String {
    let mut text = String::from('"');
    for char in file.chars() {
        match char {
            '"' | '\\' => text.extend(['\\', char]),
            _ if char.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => text.push(char),
        }
    }
    text + "\""
}
