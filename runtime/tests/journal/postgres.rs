//! The same promises over a real PostgreSQL, which `GREENROOM_POSTGRES` names.

use super::fencing::one_writes_at_a_time;
use super::kill::{kill_again_and_again, kills};
use super::ledger::{Noted, Opened, numbers, open};
use super::support::{on, soon};
use greenroom::Scheduler;
use greenroom::journal::postgres::{Client, NoTls};
use greenroom::journal::{Journal, Postgres, store_conforms};

/// A schema of its own, which goes when the test does.
struct Schema {
    server: String,
    name: String,
}

impl Schema {
    fn new(name: &str) -> Self {
        let server = std::env::var("GREENROOM_POSTGRES").expect("GREENROOM_POSTGRES is an address");
        let name = format!("greenroom_{name}_{}", std::process::id());
        let schema = Self { server, name };
        schema.execute(&format!("CREATE SCHEMA {}", schema.name));
        schema
    }

    fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options=-csearch_path%3D{}", self.server, self.name)
    }

    fn store(&self) -> Postgres {
        Postgres::connect(&self.url()).expect("it lets us in")
    }

    /// Says something to the server over a connection of its own.
    fn execute(&self, text: &str) {
        let (url, text) = (self.url(), text.to_owned());
        let said = std::thread::spawn(move || {
            let mut client = Client::connect(&url, NoTls).expect("it lets us in");
            client.batch_execute(&text).expect("it understands");
        });
        said.join().expect("the server answers");
    }

    /// Ends the connections of the application that is named like the schema.
    fn cut_connections(&self) {
        self.execute(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
            self.name
        ));
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.execute(&format!("DROP SCHEMA {} CASCADE", self.name));
    }
}

// [G-JOURNAL-5]
#[test]
#[ignore = "needs a PostgreSQL"]
fn postgres_conforms() {
    let schema = Schema::new("conforms");
    store_conforms(|| schema.store());
}

// [G-JOURNAL-5]
#[test]
#[ignore = "needs a PostgreSQL"]
fn of_two_machines_one_writes_at_a_time() {
    let schema = Schema::new("fencing");
    on(4, Scheduler::stealing(), async |system| {
        let machine = || Journal::new(schema.store()).expect("a thread");
        one_writes_at_a_time(system, &[machine(), machine(), machine()]).await;
    });
}

// [G-JOURNAL-1]
#[test]
#[ignore = "needs a PostgreSQL"]
fn a_lost_connection_is_made_anew() {
    let schema = Schema::new("lost");
    on(2, Scheduler::stealing(), async |system| {
        let url = format!("{}&application_name={}", schema.url(), schema.name);
        let store = Postgres::connect(&url).unwrap();
        let ledger = open(system, &Opened::new(&Journal::new(store).unwrap(), "a")).await.unwrap();
        for number in 1..=5 {
            assert_eq!(soon(async { ledger.note(Noted::Number(number)).await }).await, Ok(number));
            schema.cut_connections();
        }
        assert_eq!(ledger.notes().await, Ok(numbers(1..=5)));
    });
}

#[test]
fn an_address_that_leads_nowhere_is_an_error() {
    let error = Postgres::connect("nonsense").unwrap_err().to_string();
    assert!(error.contains("invalid connection string"), "{error}");
    let error = Postgres::connect("postgres://nobody@localhost:1/none").unwrap_err().to_string();
    assert!(error.contains("connect"), "{error}");
}

// [G-JOURNAL-1] [G-JOURNAL-2] [G-JOURNAL-3]
#[test]
#[ignore = "needs a PostgreSQL"]
fn postgres_has_what_was_acknowledged_after_a_kill_at_any_point() {
    let schema = Schema::new("kill");
    kill_again_and_again(&schema.url(), kills());
}
