// Generated from the table of keys. After a change there: UPDATE_DOCS=1 cargo test -p basalt settings_type

/** A length of time in Go's notation, such as `90s` or `1h30m`. */
export type SettingDuration = string;

/** A template of `[auth.email.template.<name>]`. */
export type EmailTemplate =
  | "invite"
  | "confirmation"
  | "recovery"
  | "magic_link"
  | "email_change"
  | "reauthentication";

/** A notification of `[auth.email.notification.<name>]`. */
export type EmailNotification =
  | "password_changed"
  | "email_changed"
  | "phone_changed"
  | "identity_linked"
  | "identity_unlinked"
  | "mfa_factor_enrolled"
  | "mfa_factor_unenrolled";

/** A provider of `[auth.external.<name>]`. */
export type ExternalProvider =
  | "apple"
  | "azure"
  | "bitbucket"
  | "discord"
  | "facebook"
  | "figma"
  | "fly"
  | "github"
  | "gitlab"
  | "google"
  | "kakao"
  | "keycloak"
  | "linkedin"
  | "linkedin_oidc"
  | "notion"
  | "slack"
  | "slack_oidc"
  | "snapchat"
  | "spotify"
  | "twitch"
  | "twitter"
  | "vercel_marketplace"
  | "workos"
  | "x"
  | "zoom";

/** A hook of `[auth.hook.<name>]`. */
export type HookName =
  | "send_sms"
  | "send_email"
  | "custom_access_token"
  | "mfa_verification_attempt"
  | "password_verification_attempt"
  | "before_user_created"
  | "after_user_created";

/** A chain of `[auth.web3.<name>]`. */
export type Web3Chain = "solana" | "ethereum";

/** A setting of `[basalt.upstreams]`. */
export type UpstreamSetting =
  | "rest"
  | "graphql"
  | "storage"
  | "realtime"
  | "functions"
  | "meta"
  | "studio"
  | "max_requests"
  | "max_requests_per_network"
  | "connect_timeout"
  | "response_timeout"
  | "function_timeout"
  | "websocket_idle_timeout";

/** Settings in the shape of `config.toml`. */
export interface Settings {
  project_id?: string;
  api?: {
    enabled?: boolean;
    port?: number;
    external_url?: string;
    tls?: {
      enabled?: boolean;
      cert_path?: string;
      key_path?: string;
    };
    schemas?: string[];
    extra_search_path?: string[];
    max_rows?: number;
    auto_expose_new_tables?: boolean;
  };
  auth?: {
    enabled?: boolean;
    site_url?: string;
    external_url?: string;
    additional_redirect_urls?: string[];
    jwt_expiry?: number;
    jwt_issuer?: string;
    signing_keys_path?: string;
    jwt_secret?: string;
    anon_key?: string;
    service_role_key?: string;
    publishable_key?: string;
    secret_key?: string;
    enable_refresh_token_rotation?: boolean;
    refresh_token_reuse_interval?: number;
    enable_signup?: boolean;
    enable_anonymous_sign_ins?: boolean;
    enable_manual_linking?: boolean;
    minimum_password_length?: number;
    password_requirements?:
      | ""
      | "letters_digits"
      | "lower_upper_letters_digits"
      | "lower_upper_letters_digits_symbols";
    passkey?: {
      enabled?: boolean;
    };
    webauthn?: {
      rp_id?: string;
      rp_display_name?: string;
      rp_origins?: string[];
    };
    rate_limit?: {
      email_sent?: number;
      sms_sent?: number;
      anonymous_users?: number;
      token_refresh?: number;
      sign_in_sign_ups?: number;
      token_verifications?: number;
      web3?: number;
    };
    captcha?: {
      enabled?: boolean;
      provider?: "hcaptcha" | "turnstile";
      secret?: string;
    };
    sessions?: {
      timebox?: SettingDuration;
      inactivity_timeout?: SettingDuration;
    };
    email?: {
      enable_signup?: boolean;
      double_confirm_changes?: boolean;
      enable_confirmations?: boolean;
      secure_password_change?: boolean;
      max_frequency?: SettingDuration;
      otp_length?: number;
      otp_expiry?: number;
      smtp?: {
        enabled?: boolean;
        host?: string;
        port?: number;
        user?: string;
        pass?: string;
        admin_email?: string;
        sender_name?: string;
      };
      template?: {
        [Name in EmailTemplate]?: {
          subject?: string;
          content_path?: string;
        };
      };
      notification?: {
        [Name in EmailNotification]?: {
          enabled?: boolean;
          subject?: string;
          content_path?: string;
        };
      };
    };
    sms?: {
      enable_signup?: boolean;
      enable_confirmations?: boolean;
      template?: string;
      max_frequency?: SettingDuration;
      test_otp?: {
        [name: string]: string;
      };
      twilio?: {
        enabled?: boolean;
        account_sid?: string;
        auth_token?: string;
        message_service_sid?: string;
      };
      twilio_verify?: {
        enabled?: boolean;
        account_sid?: string;
        auth_token?: string;
        message_service_sid?: string;
      };
      messagebird?: {
        enabled?: boolean;
        access_key?: string;
        originator?: string;
      };
      textlocal?: {
        enabled?: boolean;
        api_key?: string;
        sender?: string;
      };
      vonage?: {
        enabled?: boolean;
        api_key?: string;
        api_secret?: string;
        from?: string;
      };
    };
    mfa?: {
      max_enrolled_factors?: number;
      totp?: {
        enroll_enabled?: boolean;
        verify_enabled?: boolean;
      };
      phone?: {
        enroll_enabled?: boolean;
        verify_enabled?: boolean;
        otp_length?: number;
        template?: string;
        max_frequency?: SettingDuration;
      };
      web_authn?: {
        enroll_enabled?: boolean;
        verify_enabled?: boolean;
      };
      recovery_codes?: {
        enroll_enabled?: boolean;
        verify_enabled?: boolean;
        count?: number;
        code_length?: number;
        max_verify_attempts?: number;
        lockout_duration?: SettingDuration;
      };
    };
    hook?: {
      [Name in HookName]?: {
        enabled?: boolean;
        uri?: string;
        secrets?: string;
      };
    };
    external?: {
      [Name in ExternalProvider]?: {
        enabled?: boolean;
        client_id?: string;
        secret?: string;
        url?: string;
        redirect_uri?: string;
        skip_nonce_check?: boolean;
        email_optional?: boolean;
      };
    };
    web3?: {
      [Name in Web3Chain]?: {
        enabled?: boolean;
      };
    };
    oauth_server?: {
      enabled?: boolean;
      allow_dynamic_registration?: boolean;
      authorization_url_path?: string;
    };
  };
  storage?: {
    enabled?: boolean;
    file_size_limit?: string;
    image_transformation?: {
      enabled?: boolean;
    };
    s3_protocol?: {
      enabled?: boolean;
    };
    buckets?: {
      [name: string]: {
        public?: boolean;
        file_size_limit?: string;
        allowed_mime_types?: string[];
        objects_path?: string;
      };
    };
    analytics?: {
      enabled?: unknown;
      max_namespaces?: unknown;
      max_tables?: unknown;
      max_catalogs?: unknown;
      buckets?: {
        [name: string]: unknown;
      };
    };
    vector?: {
      enabled?: unknown;
      max_buckets?: unknown;
      max_indexes?: unknown;
      buckets?: {
        [name: string]: unknown;
      };
    };
  };
  functions?: {
    [name: string]: {
      enabled?: boolean;
      verify_jwt?: boolean;
      import_map?: unknown;
      entrypoint?: unknown;
      static_files?: unknown;
      env?: {
        [name: string]: unknown;
      };
    };
  };
  db?: {
    port?: number;
    shadow_port?: unknown;
    health_timeout?: unknown;
    major_version?: number;
    root_key?: unknown;
    vault?: {
      [name: string]: string;
    };
    migrations?: {
      enabled?: boolean;
      schema_paths?: unknown;
    };
    seed?: {
      enabled?: boolean;
      sql_paths?: string[];
    };
  };
  inbucket?: {
    enabled?: boolean;
    port?: number;
    smtp_port?: number;
    pop3_port?: unknown;
    admin_email?: string;
    sender_name?: string;
  };
  basalt?: {
    host?: string;
    metrics_port?: number;
    metrics?: {
      host?: string;
      port?: number;
    };
    log_level?: string;
    log_format?: "text" | "json";
    password_hash?: "argon2id" | "bcrypt";
    trusted_proxies?: string[];
    hsts_max_age?: SettingDuration;
    http?: {
      max_connections?: number;
      max_connections_per_peer?: number;
      header_timeout?: SettingDuration;
      body_timeout?: SettingDuration;
      write_timeout?: SettingDuration;
      idle_timeout?: SettingDuration;
    };
    replicas?: {
      expected?: number;
      allow_differences?: boolean;
    };
    shutdown?: {
      drain?: SettingDuration;
    };
    database?: {
      max_connections?: number;
      max_lifetime?: SettingDuration;
      max_idle_time?: SettingDuration;
      start_timeout?: SettingDuration;
      failover_wait?: SettingDuration;
      replica_url?: string;
      replica_max_lag?: SettingDuration;
      archive?: string;
      archive_interval?: SettingDuration;
    };
    retention?: {
      audit_entries?: SettingDuration;
      revoked_tokens?: SettingDuration;
      ended_sessions?: SettingDuration;
      submissions?: SettingDuration;
    };
    development_pages?: boolean;
    demo_keys?: boolean;
    rate_limit?: {
      wrong_passwords?: number;
      wrong_codes?: number;
      messages?: number;
    };
    limits?: {
      url?: string;
      on_failure?: "open" | "closed";
      prefix?: string;
      timeout?: SettingDuration;
    };
    mail?: {
      authorized_addresses?: string[];
      headers?: {
        [name: string]: string;
      };
      reply_to?: string;
    };
    data_api?: {
      database_url?: string;
      request_timeout?: SettingDuration;
      max_connections?: number;
      prepared_statements?: boolean;
    };
    storage?: {
      database_url?: string;
      bucket?: string;
      bucket_endpoint?: string;
      bucket_region?: string;
      bucket_access_key_id?: string;
      bucket_secret_access_key?: string;
      bucket_path_style?: boolean;
      content_url?: string;
      quota?: string;
      max_uploads?: number;
      max_uploads_per_network?: number;
      images_per_minute?: number;
      s3_access_key_id?: string;
      s3_secret_access_key?: string;
    };
    mailed_links?: {
      button?: string;
      refused?: string;
    };
    desk?: {
      enabled?: boolean;
      url?: string;
    };
    shop?: {
      owner?: string;
      notices_an_hour?: number;
      daily_digest?: boolean;
      submission_webhook?: string;
      submission_webhook_secret?: string;
      name?: string;
      accent_color?: string;
      logo_url?: string;
      address?: string;
      seller?: {
        name?: string;
        address?: string;
        email?: string;
        language?: string;
        terms?: string;
        privacy?: string;
        refunds?: string;
      };
      payment?: {
        download_validity?: SettingDuration;
        max_downloads?: number;
        products?: string;
        allow_placeholder_links?: boolean;
        stripe?: {
          webhook_secret?: string;
          api_key?: string;
          api_url?: string;
          ca_file?: string;
        };
        paypal?: {
          webhook_id?: string;
          client_id?: string;
          client_secret?: string;
          api_url?: string;
          ca_file?: string;
        };
        lemon_squeezy?: {
          webhook_secret?: string;
          api_key?: string;
          api_url?: string;
          ca_file?: string;
        };
      };
    };
    inbox?: {
      token?: string;
    };
    upstreams?: {
      [Name in UpstreamSetting]?: string;
    };
    tls?: {
      certificate?: string;
      key?: string;
    };
    provider?: {
      stands_in_for?: string[];
    };
    saml?: {
      enabled?: boolean;
      private_key?: string;
      private_key_next?: string;
      allow_encrypted_assertions?: boolean;
      require_provider_domain?: boolean;
    };
  };
}
