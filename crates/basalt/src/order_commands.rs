//! `basalt orders`: lists, details, new links, refunds and exports on the command line.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use data_folder::PrivateFile;
use foundation::email::Email;
use orders::admin::{self, OrderFilter, Recipient};
use orders::amount::format_coded;
use orders::export::{CSV_HEADER, to_csv};
use orders::{Order, OrderService, OrderState};
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::store::Connection;
use uuid::Uuid;

use crate::announce::RunningServer;
use crate::api_keys;
use crate::app::SharedPorts;
use crate::dev::KeptMessages;
use crate::plural::format_count;
use crate::profiles;
use crate::project::Project;
use crate::serve::build_outbox;
use crate::serve::live_shop::{DeskChanges, build_catalogue};
use crate::serve::payments::{OrderInputs, build_orders};
use crate::users::{DatabaseArguments, UserDatabase};

/// Arguments of `list` and `export`.
#[derive(Debug, Args)]
pub(crate) struct FilterArguments {
    /// A part of the buyer's address or of the title, or a number, an id or the provider's reference
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only orders in this state: paid, delivered or refunded
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Option<&'static str>,
    /// Only orders of this template
    #[arg(long, value_name = "ID")]
    template: Option<u16>,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct OrderListArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// The largest number of orders
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// One order per line as JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct OrderShowArguments {
    #[command(flatten)]
    order: OrderArguments,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of commands for one order.
#[derive(Debug, Args)]
pub(crate) struct OrderArguments {
    /// Its number or id
    #[arg(value_name = "ORDER")]
    order: String,
}

/// Arguments of `resend`.
#[derive(Debug, Args)]
pub(crate) struct OrderResendArguments {
    #[command(flatten)]
    order: OrderArguments,
    /// The right address of a buyer who mistyped it; the order keeps it
    #[arg(long, value_name = "ADDRESS", value_parser = parse_email)]
    email: Option<Email>,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct OrderExportArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// The file, created readable by its owner only; - for standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = ["csv", "json"])]
    format: String,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

fn parse_state(name: &str) -> Result<&'static str, String> {
    let state = OrderState::from_name(name);
    state.map(OrderState::name).ok_or_else(|| "must be paid, delivered or refunded".to_owned())
}

fn parse_email(address: &str) -> Result<Email, String> {
    Email::parse(address).map_err(|_| "must be an email address".to_owned())
}

/// A database with the service of its orders.
pub(crate) struct OrderDatabase {
    database: UserDatabase,
    service: Arc<OrderService>,
}

impl OrderDatabase {
    /// Connects as the account commands do; mails are sent by the running server, or at its next start.
    pub(crate) async fn connect(arguments: &DatabaseArguments) -> anyhow::Result<Self> {
        let project = Project::load(&arguments.project)?;
        let database = UserDatabase::connect(arguments).await?;
        let running = RunningServer::read(&project.data);
        let url = running.map_or_else(|| project.api_url(project.file.port()), |running| running.url);
        let entropy = Entropy::from_system();
        let keys = api_keys::combine(None, &api_keys::ConfiguredKeys::default(), &entropy, SystemClock.now())?;
        let mut config = project.settings(&url, &keys)?;
        profiles::apply_serve_profile(&mut config, &project.file.basalt, &project.display_name());
        let basalt = &project.file.basalt;
        let is_development = profiles::has_development_pages(&config, basalt);
        let kept = KeptMessages::new(config.smtp.is_some(), is_development, basalt.inbox_token.is_some());
        let shared = SharedPorts::start()?;
        let host = url.parse::<http::Uri>().ok().and_then(|url| url.host().map(str::to_owned));
        let inputs = OrderInputs {
            project: &project,
            config: &config,
            url: &url,
            origin: &url,
            pool: database.pool.clone(),
            outbox: Arc::new(build_outbox(&database.pool, &shared, kept, &entropy)),
            clock: Arc::clone(&shared.clock),
            entropy: entropy.fork(),
            mail_host: host.as_deref().unwrap_or("localhost"),
        };
        let changes = DeskChanges::load(&mut Connection::pooled(database.pool.clone(), Arc::default())).await;
        let changes = changes.context("reading the changes of the catalogue")?;
        let catalogue = build_catalogue(&project.catalogue_source, &project.catalogue, &changes);
        let (service, _) = build_orders(inputs, Arc::new(move || catalogue.list_products()), Arc::new(|_| None))?;
        Ok(Self { database, service })
    }

    /// Closes the connections and stops a started database.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.database.close().await
    }

    /// Finds the order of a number or an id.
    async fn find(&self, order: &str) -> anyhow::Result<Uuid> {
        if let Ok(id) = order.parse() {
            return Ok(id);
        }
        let number: i64 =
            order.parse().with_context(|| format!("{order} is neither a number nor an id of an order"))?;
        let filter = OrderFilter { before: number.checked_add(1), limit: 1, ..OrderFilter::default() };
        let (orders, _) = admin::list_page(&self.service, &filter).await?;
        let found = orders.into_iter().find(|order| order.number == number);
        found
            .map(|order| order.id)
            .with_context(|| format!("there is no order {number}; `basalt orders list` shows all"))
    }
}

fn to_filter(arguments: &FilterArguments) -> OrderFilter {
    OrderFilter {
        search: arguments.search.clone(),
        state: arguments.state,
        template: arguments.template.map(i32::from),
        limit: admin::MAX_LIMIT,
        ..OrderFilter::default()
    }
}

/// Calls a function for each order, the newest first, until it returns `false`.
async fn for_each(
    service: &OrderService,
    mut filter: OrderFilter,
    mut call: impl FnMut(&Order) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    loop {
        let (orders, next) = admin::list_page(service, &filter).await?;
        for order in &orders {
            if !call(order)? {
                return Ok(());
            }
        }
        match next {
            Some(next) => filter.before = Some(next),
            None => return Ok(()),
        }
    }
}

/// Lists orders, the newest first.
pub(crate) async fn list(database: &OrderDatabase, arguments: &OrderListArguments) -> anyhow::Result<()> {
    let mut left = arguments.limit;
    let mut out = std::io::stdout().lock();
    let mut is_empty = true;
    for_each(&database.service, to_filter(&arguments.filter), |order| {
        is_empty = false;
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        if arguments.json {
            writeln!(out, "{}", order.to_json())?;
        } else {
            let amount = format_coded(order.amount_minor, &order.currency);
            let (paid, state) = (order.paid_at.format("%Y-%m-%d %H:%M"), order.state.name());
            let test = if order.is_test { " (test)" } else { "" };
            writeln!(
                out,
                "{:>6}  {paid}  {state:<9}  {amount:>12}  {}  {}{test}",
                order.number, order.buyer_email, order.template_title
            )?;
        }
        Ok(true)
    })
    .await?;
    if is_empty {
        eprintln!("No orders.");
    }
    Ok(())
}

/// Shows an order with its mails and events, as JSON.
pub(crate) async fn show(database: &OrderDatabase, arguments: &OrderShowArguments) -> anyhow::Result<()> {
    let order = &arguments.order.order;
    let id = database.find(order).await?;
    let details = admin::find(&database.service, id).await?;
    let details = details.with_context(|| format!("there is no order {order}"))?.to_json();
    print(&if arguments.json { details.to_string() } else { serde_json::to_string_pretty(&details)? })
}

/// Mails a new link to the buyer, to another address if one is given.
pub(crate) async fn resend(database: &OrderDatabase, arguments: &OrderResendArguments) -> anyhow::Result<()> {
    let id = database.find(&arguments.order.order).await?;
    let to = Recipient { email: arguments.email.as_ref(), previous: None };
    if admin::resend_download_to(&database.service, id, to).await? {
        print("The address is changed, and a mail with a new link to it is queued; older links have ended.")
    } else {
        print("A mail with a new link is queued; older links have ended.")
    }
}

/// Refunds an order at its provider.
pub(crate) async fn refund(database: &OrderDatabase, arguments: &OrderArguments) -> anyhow::Result<()> {
    let id = database.find(&arguments.order).await?;
    let order = admin::refund(&database.service, id).await?;
    let amount = format_coded(order.amount_minor, &order.currency);
    print(&format!("Refunded {amount} to {}; the download link has ended.", order.buyer_email))
}

/// Writes all orders to a file.
pub(crate) async fn export(database: &OrderDatabase, arguments: &OrderExportArguments) -> anyhow::Result<()> {
    let file = &arguments.file;
    if file.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write_orders(database, arguments, &mut out).await?;
        return Ok(out.flush()?);
    }
    let mut out = PrivateFile::create(file, arguments.force)?;
    let count = write_orders(database, arguments, &mut out).await?;
    out.finish()?;
    eprintln!("Wrote {} to {}.", format_count(count, "order"), file.display());
    Ok(())
}

async fn write_orders(
    database: &OrderDatabase,
    arguments: &OrderExportArguments,
    out: &mut impl Write,
) -> anyhow::Result<u64> {
    let is_csv = arguments.format == "csv";
    let mut count = 0;
    if is_csv {
        write!(out, "{CSV_HEADER}\r\n")?;
    }
    for_each(&database.service, to_filter(&arguments.filter), |order| {
        count += 1;
        if is_csv {
            write!(out, "{}\r\n", to_csv(order))?;
        } else {
            writeln!(out, "{}", order.to_json())?;
        }
        Ok(true)
    })
    .await?;
    Ok(count)
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}
