//! Measurements as rows of a Parquet file: the form in which they are kept, drawn and compared.
//!
//! One row is one measurement in one round. Every row also says where it was made, so that files of
//! several machines and commits can be put together and queried with any tool that reads Parquet.
//! A figure that a measurement does not have is null, and so is one that a file of an earlier version lacks.

use crate::machine;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::Field;
use parquet::schema::types::Type;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value that a column can have.
trait Value: Sized {
    /// How the column is written.
    fn column(name: &str) -> Result<Type, ParquetError>;

    /// Writes all values of the column.
    fn write(values: &[Self], column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>;

    /// Takes a value out of a row that was read; `None` when it is of another type.
    fn read(field: &Field) -> Option<Self>;
}

impl Value for String {
    fn column(name: &str) -> Result<Type, ParquetError> {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()
    }

    fn write(values: &[Self], column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let values: Vec<_> = values.iter().map(|text| ByteArray::from(text.as_str())).collect();
        column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        Ok(())
    }

    fn read(field: &Field) -> Option<Self> {
        match field {
            Field::Str(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Value for Option<String> {
    fn column(name: &str) -> Result<Type, ParquetError> {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::String))
            .build()
    }

    fn write(values: &[Self], column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<_> =
            values.iter().flatten().map(|text| ByteArray::from(text.as_str())).collect();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
        Ok(())
    }

    fn read(field: &Field) -> Option<Self> {
        match field {
            Field::Null => Some(None),
            Field::Str(text) => Some(Some(text.clone())),
            _ => None,
        }
    }
}

/// Nullable numbers: Rust's type, Parquet's type, the field that carries it.
macro_rules! numbers {
    ($($rust:ty, $physical:ident, $parquet:ty, $field:ident;)+) => {$(
        impl Value for Option<$rust> {
            fn column(name: &str) -> Result<Type, ParquetError> {
                let column = Type::primitive_type_builder(name, Physical::$physical);
                column.with_repetition(Repetition::OPTIONAL).build()
            }

            fn write(
                values: &[Self],
                column: &mut SerializedColumnWriter<'_>,
            ) -> Result<(), ParquetError> {
                let present: Vec<i16> =
                    values.iter().map(|value| i16::from(value.is_some())).collect();
                let values: Vec<$rust> = values.iter().copied().flatten().collect();
                column.typed::<$parquet>().write_batch(&values, Some(&present), None)?;
                Ok(())
            }

            fn read(field: &Field) -> Option<Self> {
                match field {
                    Field::Null => Some(None),
                    Field::$field(value) => Some(Some(*value)),
                    _ => None,
                }
            }
        }
    )+};
}

numbers! {
    i64, INT64, Int64Type, Long;
    f64, DOUBLE, DoubleType, Double;
}

macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty,)+) => {
        /// One measurement.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Row {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        fn schema() -> Result<Type, ParquetError> {
            let columns = vec![$(Arc::new(<$type as Value>::column(stringify!($name))?),)+];
            Type::group_type_builder("measurement").with_fields(columns).build()
        }

        fn write_columns(rows: &[Row], file: File) -> Result<(), ParquetError> {
            let properties = Arc::new(WriterProperties::builder().build());
            let mut file = SerializedFileWriter::new(file, Arc::new(schema()?), properties)?;
            let mut group = file.next_row_group()?;
            $(
                let values: Vec<$type> = rows.iter().map(|row| row.$name.clone()).collect();
                let missing = || ParquetError::General("the schema has too few columns".into());
                let mut column = group.next_column()?.ok_or_else(missing)?;
                <$type as Value>::write(&values, &mut column)?;
                column.close()?;
            )+
            group.close()?;
            file.close()?;
            Ok(())
        }

        impl Row {
            /// Sets the field that a column names; an unknown column, of a later version, is left.
            fn set(&mut self, column: &str, field: &Field) -> Result<(), ParquetError> {
                let other = || ParquetError::General(format!("column {column} has another type"));
                match column {
                    $(stringify!($name) => {
                        self.$name = <$type as Value>::read(field).ok_or_else(other)?;
                    })+
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

rows! {
    /// The command of `bench` that measured it, or `micro`.
    command: String,
    /// What was run, such as `ping_pong`.
    program: String,
    /// Who ran it: a library with its settings.
    who: String,
    /// The library alone.
    library: String,
    /// The ready queue, or which of ours it is where there are no actors; empty for a peer.
    scheduler: String,
    /// Threads that run actors.
    workers: Option<i64>,
    /// Whose allocator.
    allocator: String,
    /// Which of the interleaved rounds, from 0.
    round: Option<i64>,
    /// How many operations.
    n: Option<i64>,
    /// How long all of them took.
    nanos: Option<i64>,
    /// How long one of them took.
    ns_per_op: Option<f64>,
    /// Instructions of one operation.
    instructions_per_op: Option<f64>,
    /// Processor time of one operation.
    cpu_ns_per_op: Option<f64>,
    /// How often a thread was switched to for one operation.
    switches_per_op: Option<f64>,
    /// Instructions of one cycle.
    instructions_per_cycle: Option<f64>,
    /// Cycles of one operation.
    cycles_per_op: Option<f64>,
    /// Branches of one operation that were foretold wrongly.
    branches_missed_per_op: Option<f64>,
    /// Reads of one operation that the first cache did not have.
    reads_missed_per_op: Option<f64>,
    /// What one idle actor added to the process.
    bytes_each: Option<f64>,
    /// Memory of the whole process.
    resident_bytes: Option<i64>,
    /// Bytes that went by in a second.
    bytes_per_second: Option<f64>,
    /// Half of the operations took no longer.
    p50_ns: Option<f64>,
    /// 95 of 100 operations took no longer.
    p95_ns: Option<f64>,
    /// 99 of 100 operations took no longer.
    p99_ns: Option<f64>,
    /// 999 of 1000 operations took no longer.
    p999_ns: Option<f64>,
    /// The longest operation.
    max_ns: Option<f64>,
    /// The processor.
    cpu: String,
    /// How many threads can run at once.
    cores: Option<i64>,
    /// The machine's memory.
    ram_bytes: Option<i64>,
    /// By which rule the kernel chooses the processor's clock, where it does.
    governor: Option<String>,
    /// By which rule the process got a core, where it was not the usual one.
    policy: Option<String>,
    /// A line's way from one core to another.
    core_to_core_ns: Option<f64>,
    /// The kernel.
    kernel: String,
    /// The compiler.
    rustc: String,
    /// The profile and the compiler's flags.
    flags: String,
    /// The commit that was built, and whether files differed from it.
    commit: String,
    /// When the run began, since 1970.
    time_ms: Option<i64>,
    /// How many threads wanted to run before it began.
    load: Option<f64>,
}

/// What the library of a row is called that is ours.
pub const OURS: &str = "greenroom";

/// What the second measurement of somebody in a round is called, behind the name of the first.
pub const AGAIN: &str = " (again)";

impl Row {
    /// Which measurements are of the same: those of that command and program, in that size. Criterion chooses anew how
    /// often it repeats something, so the size of a row of `micro` is in its program's name alone.
    #[must_use]
    pub fn what(&self) -> (&str, &str, Option<i64>) {
        (&self.command, &self.program, self.n.filter(|_| self.command != "micro"))
    }

    /// A row without figures, which says where it comes from.
    #[must_use]
    pub fn here(program: &str, who: &str) -> Self {
        let machine = machine::facts();
        Self {
            program: program.to_owned(),
            who: who.to_owned(),
            library: OURS.to_owned(),
            allocator: "system".to_owned(),
            cpu: machine.cpu.clone(),
            cores: i64::try_from(machine.cores).ok(),
            ram_bytes: machine.ram_bytes,
            governor: machine.governor.clone(),
            policy: machine.policy.clone(),
            core_to_core_ns: machine.core_to_core_ns,
            kernel: machine.kernel.clone(),
            rustc: machine.rustc.clone(),
            flags: machine.flags.clone(),
            commit: machine.commit.clone(),
            time_ms: machine.time_ms,
            load: machine.load,
            ..Self::default()
        }
    }
}

/// Writes `rows` to `file`, in the place of an older one.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write(rows: &[Row], file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    write_columns(rows, File::create(file)?).map_err(io::Error::other)
}

/// Reads the rows of a file, or of every Parquet file in a folder in the order of their names.
///
/// # Errors
/// When something cannot be read, or is no file of rows, or one of an older form.
pub fn read(path: &Path) -> io::Result<Vec<Row>> {
    if !path.is_dir() {
        return read_file(path).map_err(io::Error::other);
    }
    let mut files =
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "parquet"));
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        let named = |error: ParquetError| io::Error::other(format!("{}: {error}", file.display()));
        rows.extend(read_file(&file).map_err(named)?);
    }
    Ok(rows)
}

fn read_file(file: &Path) -> Result<Vec<Row>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let missing = missing(reader.metadata().file_metadata().schema())?;
    if !missing.is_empty() {
        let missing = missing.join("`, `");
        return Err(ParquetError::General(format!(
            "the file is of an older form, without `{missing}`: remove it, or measure again"
        )));
    }
    let mut rows = Vec::new();
    for columns in reader.get_row_iter(None)? {
        let mut row = Row::default();
        for (name, field) in columns?.get_column_iter() {
            row.set(name, field)?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What every row has, but those of a file with that schema have not.
fn missing(file: &Type) -> Result<Vec<String>, ParquetError> {
    let wanted = schema()?;
    let wanted = wanted.get_fields().iter().filter(|column| !column.is_optional());
    let has = |name: &str| file.get_fields().iter().any(|column| column.name() == name);
    Ok(wanted.map(|column| column.name()).filter(|name| !has(name)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{
        Row, SerializedFileWriter, Type, Value, WriterProperties, missing, read, schema, write,
    };
    use std::env;
    use std::fs::{self, File};
    use std::path::PathBuf;
    use std::process;
    use std::sync::Arc;

    fn folder(name: &str) -> PathBuf {
        env::temp_dir().join(format!("greenroom-rows-{name}-{}", process::id()))
    }

    fn row(program: &str, round: i64) -> Row {
        Row {
            program: program.to_owned(),
            who: "stealing-2 \"quoted\", ünïcode".to_owned(),
            round: Some(round),
            nanos: (round > 0).then_some(i64::MAX),
            ns_per_op: (round != 1).then_some(0.1),
            policy: (round == 1).then(|| "SCHED_RR 50".to_owned()),
            ..Row::default()
        }
    }

    #[test]
    fn rows_come_back_as_they_were_written() {
        let file = folder("file").join("deep").join("rows.parquet");
        let rows = [row("ask", 0), row("ask", 1), row("big", 2)];
        write(&rows, &file).unwrap();
        assert_eq!(read(&file).unwrap(), rows);
        write(&rows[..1], &file).unwrap();
        assert_eq!(read(&file).unwrap(), rows[..1], "an older file is replaced");
        write(&[], &file).unwrap();
        assert_eq!(read(&file).unwrap(), []);
        fs::remove_dir_all(folder("file")).unwrap();
    }

    #[test]
    fn a_folder_is_read_whole_and_in_order() {
        let folder = folder("folder");
        write(&[row("b", 1)], &folder.join("b.parquet")).unwrap();
        write(&[row("a", 0)], &folder.join("a.parquet")).unwrap();
        fs::write(folder.join("notes.txt"), "no rows").unwrap();
        assert_eq!(read(&folder).unwrap(), [row("a", 0), row("b", 1)]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_file_of_rows_is_an_error() {
        let folder = folder("error");
        fs::create_dir_all(&folder).unwrap();
        assert!(read(&folder.join("none.parquet")).is_err());
        fs::write(folder.join("text.parquet"), "text").unwrap();
        assert!(read(&folder).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_without_what_not_every_row_has_is_read() {
        let required = schema().unwrap();
        let required = required.get_fields().iter().filter(|column| !column.is_optional());
        let older =
            Type::group_type_builder("measurement").with_fields(required.cloned().collect());
        assert_eq!(missing(&older.build().unwrap()).unwrap(), Vec::<String>::new());
        let optional = ["policy", "governor", "ram_bytes", "cpu_ns_per_op", "switches_per_op"];
        let all = schema().unwrap();
        let is_optional = |name: &&str| {
            let column = all.get_fields().iter().find(|column| column.name() == *name);
            column.is_some_and(|column| column.is_optional())
        };
        assert!(optional.iter().all(is_optional));
    }

    #[test]
    fn a_file_of_an_older_form_says_so() {
        let folder = folder("older");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("run.parquet");
        let columns = vec![Arc::new(String::column("program").unwrap())];
        let schema = Type::group_type_builder("measurement").with_fields(columns).build().unwrap();
        let properties = Arc::new(WriterProperties::builder().build());
        let older = File::create(&file).unwrap();
        let mut older = SerializedFileWriter::new(older, Arc::new(schema), properties).unwrap();
        let mut group = older.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        String::write(&["ask".to_owned()], &mut column).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        older.close().unwrap();
        for path in [&file, &folder] {
            let why = read(path).unwrap_err().to_string();
            assert!(why.contains("of an older form, without `command`, `who`"), "{why}");
        }
        let why = read(&folder).unwrap_err().to_string();
        assert!(why.contains("run.parquet"), "of many files the one is named: {why}");
        fs::remove_dir_all(folder).unwrap();
    }
}
