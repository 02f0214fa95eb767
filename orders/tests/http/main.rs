//! Tests of orders on a database.
