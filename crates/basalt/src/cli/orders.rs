//! `basalt orders`: definitions of the commands for orders.

use clap::{Args, Subcommand};

use super::process::build_runtime;
use crate::logging;
use crate::order_commands::{
    self, OrderArguments, OrderDatabase, OrderExportArguments, OrderListArguments, OrderResendArguments,
    OrderShowArguments,
};
use crate::users::DatabaseArguments;

const EXAMPLES: &str = "Examples:
  basalt orders list --state paid
  basalt orders show 17
  basalt orders resend 17
  basalt orders resend 17 --email ada@example.com
  basalt orders refund 17
  basalt orders export orders.csv

These commands work with and without a running `basalt serve`. A mail with a new link is sent by the server, which need not
run at the time.";

/// The arguments of `basalt orders`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct OrdersArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List orders, newest first
    List(OrderListArguments),
    /// Show an order with its mails and the events of its payment
    Show(OrderShowArguments),
    /// Mail a new download link to the buyer; older links end
    Resend(OrderResendArguments),
    /// Refund an order at its payment provider; its link ends
    Refund(OrderArguments),
    /// Export orders to a file, as CSV or as JSON
    Export(OrderExportArguments),
}

/// Runs a command for orders.
pub(super) fn run(arguments: OrdersArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    build_runtime()?.block_on(async {
        let database = OrderDatabase::connect(&arguments.database).await?;
        let outcome = match arguments.action {
            Action::List(arguments) => order_commands::list(&database, &arguments).await,
            Action::Show(arguments) => order_commands::show(&database, &arguments).await,
            Action::Resend(arguments) => order_commands::resend(&database, &arguments).await,
            Action::Refund(arguments) => order_commands::refund(&database, &arguments).await,
            Action::Export(arguments) => order_commands::export(&database, &arguments).await,
        };
        database.close().await?;
        outcome
    })
}
