//! The same twins as in `fixtures.rs` before MariaDB: a pipeline in Python with PyMySQL, and one around `mariadb`.

use crate::fixtures::both_twins;

/// One test a class, so that they share the machine's cores.
macro_rules! every_class {
    ($($name:ident: $class:literal in $($language:literal)+;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $(both_twins($class, $language).await;)+
        })*

        #[test]
        fn no_twin_is_left_out() {
            let mut here = vec![$($(($class.to_owned(), $language.to_owned())),+),*];
            here.sort();
            assert_eq!(crate::fixtures::mysql_twins(), here);
        }
    };
}

every_class! {
    appended: "appended" in "mysql.py" "mysql.sh";
    restamped: "restamped" in "mysql.py" "mysql.sh";
    blind_replay: "blind-replay" in "mysql.py" "mysql.sh";
    partial_load: "partial-load" in "mysql.py";
    staging_left: "staging-left" in "mysql.py" "mysql.sh";
    check_then_insert: "check-then-insert" in "mysql.py" "mysql.sh";
    false_success: "false-success" in "mysql.py" "mysql.sh";
    not_retried: "not-retried" in "mysql.py";
    statement_retry: "statement-retry" in "mysql.py";
    futile_retry: "futile-retry" in "mysql.py";
}
