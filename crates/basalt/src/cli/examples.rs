//! Examples of commands whose definitions have none.

/// The examples by the path of their command.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    (
        "serve",
        "Examples:
  basalt serve
  basalt serve --config supabase/config.toml --data /var/lib/basalt --port 54321
  basalt serve --database-url postgresql://postgres@db/app
  basalt serve --test --port 0 --json       a server for a test suite; prints its URLs and keys",
    ),
    (
        "exec",
        "Examples:
  basalt exec -- npm test
  basalt exec --allow-skipped -- pytest -q",
    ),
    (
        "status",
        "Examples:
  basalt status
  basalt status --json
  basalt status --output env > .env.local",
    ),
    (
        "check",
        "Examples:
  basalt check
  basalt check --config supabase/config.toml --json",
    ),
    (
        "healthcheck",
        "Examples:
  basalt healthcheck
  basalt healthcheck --url http://127.0.0.1:9999 --timeout 10",
    ),
    (
        "init",
        "Examples:
  basalt init
  basalt init --shop --config config.toml",
    ),
    (
        "gotrue",
        "Examples:
  basalt gotrue
  basalt gotrue --config auth.env
  basalt gotrue --config auth.env migrate",
    ),
    ("gotrue serve", "Example:\n  basalt gotrue serve"),
    ("gotrue migrate", "Example:\n  basalt gotrue migrate --config auth.env"),
    ("gotrue version", "Example:\n  basalt gotrue version"),
    ("gotrue admin createuser", "Example:\n  basalt gotrue admin createuser ann@example.com PASSWORD --confirm"),
    ("gotrue admin deleteuser", "Example:\n  basalt gotrue admin deleteuser ann@example.com"),
    (
        "postgrest",
        "Examples:
  basalt postgrest postgrest.conf
  PGRST_DB_URI=postgresql://authenticator@db/app PGRST_DB_ANON_ROLE=anon basalt postgrest",
    ),
    (
        "storage",
        "Examples:
  STORAGE_BACKEND=file FILE_STORAGE_BACKEND_PATH=/var/lib/storage basalt storage
  basalt storage seed
  basalt storage check",
    ),
    ("storage seed", "Example:\n  basalt storage seed --config supabase/config.toml"),
    (
        "storage check",
        "Examples:
  basalt storage check
  basalt storage check --delete --older-than 3600",
    ),
    ("storage anonymise", "Example:\n  basalt storage anonymise --config copy/config.toml --yes"),
    ("desk link", "Example:\n  basalt desk link"),
    ("desk reset", "Example:\n  basalt desk reset owner@example.com"),
    ("keys list", "Example:\n  basalt keys list --json"),
    ("keys add", "Example:\n  basalt keys add signing --algorithm es256"),
    (
        "keys rotate",
        "Examples:
  basalt keys rotate signing
  GOTRUE_JWT_KEYS_FILE=keys.json basalt keys rotate signing --gotrue",
    ),
    ("keys retire", "Example:\n  basalt keys retire 5f0c1b7e-8c35-4a55-9a55-1c9f0b1f2c11"),
    (
        "db",
        "Examples:
  basalt db migrate
  basalt db diff --file create_notes
  basalt db reset --yes",
    ),
    ("migration", "Example:\n  basalt migration new create_notes"),
    ("gen", "Example:\n  basalt gen types typescript --local > database.types.ts"),
    ("gotrue admin", "Example:\n  basalt gotrue admin createuser ann@example.com PASSWORD --confirm"),
    ("db anonymise", "Example:\n  basalt db anonymise --database-url postgresql://postgres@localhost/copy --yes"),
    ("backup verify", "Example:\n  basalt backup verify /backups/shop.tar.gz --json"),
    (
        "users add",
        "Examples:
  basalt users add ann@example.com --confirmed --password-stdin < password.txt
  basalt users add ann@example.com --metadata '{\"name\": \"Ann\"}' --json",
    ),
    ("users list", "Example:\n  basalt users list --filter example.com --limit 200 --json"),
    ("users show", "Example:\n  basalt users show ann@example.com --json"),
    (
        "users ban",
        "Examples:
  basalt users ban ann@example.com --for 24h
  basalt users ban ann@example.com --lift",
    ),
    ("users delete", "Example:\n  basalt users delete ann@example.com --yes"),
    (
        "users import",
        "Examples:
  basalt users import users.jsonl --dry-run
  basalt users import dump.sql --database-url postgresql://postgres@db/app
  basalt users import auth-export.json --firebase-signer-key KEY --firebase-salt-separator Bw==
  basalt users import export.jsonl hashes.jsonl --json",
    ),
    (
        "users export",
        "Examples:
  basalt users export users.jsonl
  basalt users export users.jsonl --anonymise",
    ),
    ("orders list", "Example:\n  basalt orders list --state paid --json"),
    ("orders show", "Example:\n  basalt orders show 17 --json"),
    (
        "orders resend",
        "Examples:
  basalt orders resend 17
  basalt orders resend 17 --email ada@example.com",
    ),
    ("orders refund", "Example:\n  basalt orders refund 17"),
    ("orders export", "Example:\n  basalt orders export orders.csv"),
    ("submissions list", "Example:\n  basalt submissions list --status new"),
    ("submissions search", "Example:\n  basalt submissions search newsletter example.com"),
    ("submissions show", "Example:\n  basalt submissions show 0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001"),
    ("submissions export", "Example:\n  basalt submissions export submissions.csv --from 2026-11-01"),
    ("submissions delete", "Example:\n  basalt submissions delete 0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001"),
];
