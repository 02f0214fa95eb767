import type { ReactNode } from "react";
import { Link } from "react-router-dom";

interface ItemTexts {
  title: string;
  /** What is in place. */
  done: string;
  /** Why it is needed. */
  why: string;
  /** What to do. */
  remedy: ReactNode;
  /** What the details are. */
  details?: string;
}

/** The texts of each item by its id. */
export const TEXTS: Record<string, ItemTexts> = {
  recovery_codes: {
    title: "Recovery codes",
    done: "You can sign in without the authenticator app.",
    why: "Without them a lost phone locks you out of the desk.",
    remedy: (
      <>
        Make them on the screen <Link to="/account">Account</Link> and keep them where the phone is
        not.
      </>
    ),
  },
  products: {
    title: "Files for buyers",
    done: "Every template on sale has its ZIP file.",
    why: "Buyers of these templates would pay and get no file:",
    details: "Templates without a file",
    remedy: (
      <>
        Open each template in the <Link to="/catalogue">catalogue</Link> and choose its file. For
        all at once, set <code>products</code> under <code>[basalt.shop.payment]</code> to the
        folder with the files and restart the server.
      </>
    ),
  },
  test_order: {
    title: "Test order",
    done: "A purchase was tried out from payment to download.",
    why: "It shows you what your buyers see: the payment, the mail, the download.",
    remedy: (
      <>
        Open a template of the <a href="/">shop</a>, buy it at the payment simulator or in the test
        mode of your provider, and open the mail in the inbox.
      </>
    ),
  },
  mail_server: {
    title: "Mail server",
    done: "Mails are sent by your mail server.",
    why: "Without one, download links and confirmations stay in the inbox of this machine.",
    remedy: (
      <>
        Set <code>[auth.email.smtp]</code> in <code>config.toml</code>: host, port, user, pass and
        admin_email.
      </>
    ),
  },
  address: {
    title: "Public address",
    done: "Links in mails lead to this address:",
    why: "Links in mails lead to this address, which only this machine can open:",
    details: "Address",
    remedy: (
      <>
        Set <code>external_url</code> under <code>[api]</code> to the address of your shop, such as{" "}
        <code>https://shop.example.com</code>.
      </>
    ),
  },
  payment: {
    title: "Payment",
    done: "Your payment provider reports purchases, and every payment link is yours.",
    why: "No money arrives yet. A provider has to report purchases, and each template needs its payment link.",
    details: "Templates without a link of yours",
    remedy: (
      <>
        Set <code>[basalt.shop.payment.stripe]</code>, <code>paypal</code> or{" "}
        <code>lemon_squeezy</code> in <code>config.toml</code>, and enter the payment link of each
        template in the <Link to="/catalogue">catalogue</Link>.
      </>
    ),
  },
};
