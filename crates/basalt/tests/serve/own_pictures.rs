//! Pictures that the owner gives templates in `catalogue.toml`.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use rustix::process::Signal;
use serde_json::Value;

use super::support::{Basalt, TempFolder, run};

/// 512 × 512, and 800 × 420.
const PNG: &[u8] = include_bytes!("../../../../frontend/public/icon-512.png");
const JPEG: &[u8] = include_bytes!("../../../../frontend/public/shared/01.jpg");

const MENU: &str = "[[template]]\nid = 13\ntitle = \"Menu of the Week\"\ncategory = \"Food\"\nprice = \"$45\"\n\
                    summary = \"Seven dishes.\"\ndescription = \"A menu for the week.\"\n\
                    features = [\"a\", \"b\", \"c\", \"d\", \"e\"]\nlink = \"https://payments.example/placeholder/menu\"\n";

/// Writes a shop with the picture `pictures/menu.png`.
fn write_shop(scratch: &TempFolder) -> String {
    fs::create_dir_all(scratch.0.join("pictures")).expect("a folder");
    fs::write(scratch.0.join("pictures/menu.png"), PNG).expect("a picture");
    let picture = "picture = \"pictures/menu.png\"\npicture_alt = \"A \\\"menu\\\" on cream paper.\"\n";
    scratch.write("catalogue.toml", &format!("{MENU}{picture}"));
    scratch.write("config.toml", "[basalt.shop]\nowner = \"owner@example.com\"\n")
}

async fn page(server: &Basalt, path: &str) -> String {
    server.client.get(server.url(path)).send().await.expect("an answer").text().await.expect("a page")
}

/// Returns the content of the first `<meta property="…">`.
fn meta<'p>(page: &'p str, property: &str) -> &'p str {
    let start = format!("<meta property=\"{property}\" content=\"");
    page.split_once(&start).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(content, _)| content)
}

/// Returns the path of the picture in the hydration data of a page.
fn picture_of(page: &str, id: u16) -> Value {
    let (_, rest) = page.split_once("<script id=\"basalt-catalogue\" type=\"application/json\">").expect("the data");
    let data: Value = serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON");
    let templates = data["templates"].as_array().expect("templates");
    templates.iter().find(|template| template["id"] == id).map_or(Value::Null, |template| template["picture"].clone())
}

#[tokio::test]
async fn own_picture_is_on_card_page_and_shared_link() {
    let scratch = TempFolder::new();
    let server = Basalt::serve(&["--ephemeral", "--config", &write_shop(&scratch)]);
    let shop = page(&server, "/").await;
    let picture = picture_of(&shop, 13);
    let src = picture["src"].as_str().expect("a path");
    assert_eq!(
        (&picture["width"], &picture["height"], &picture["type"]),
        (&512.into(), &512.into(), &"image/png".into())
    );
    let card = format!("<source type=\"image/png\" srcSet=\"{src} 512w\"");
    assert!(shop.contains(&card), "{card}: {shop}");
    let alt = "alt=\"A &quot;menu&quot; on cream paper.\"";
    assert!(shop.contains(alt), "{shop}");

    let detail = page(&server, "/template/13").await;
    assert!(detail.contains(&format!("src=\"{src}\"")) && detail.contains(alt), "{detail}");
    assert!(
        !detail.contains("{{") && !detail.contains("tablist") && !detail.contains("See the whole email"),
        "{detail}"
    );
    assert!(meta(&detail, "og:image").ends_with(src), "{detail}");
    assert_eq!((meta(&detail, "og:image:width"), meta(&detail, "og:image:height")), ("512", "512"));
    let built_in = page(&server, "/template/1").await;
    assert!(built_in.contains("tablist") && built_in.contains("See the whole email"), "{built_in}");

    let answer = server.client.get(server.url(src)).send().await.expect("an answer");
    let header = |name| answer.headers().get(name).map_or("", |value| value.to_str().expect("text")).to_owned();
    assert_eq!((header(CONTENT_TYPE).as_str(), answer.status()), ("image/png", StatusCode::OK));
    assert_eq!(header(CACHE_CONTROL), "public, max-age=31536000, immutable");
    let known = server.client.get(server.url(src)).header(IF_NONE_MATCH, header(ETAG)).send().await.expect("an answer");
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(answer.bytes().await.expect("a picture"), PNG);

    // The format is that of the content, whatever the name ends with.
    fs::write(scratch.0.join("pictures/menu.png"), JPEG).expect("another picture");
    server.signal(Signal::HUP);
    let started = Instant::now();
    while picture_of(&page(&server, "/").await, 13)["type"] != "image/jpeg" {
        assert!(started.elapsed() < Duration::from_secs(10), "{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn unusable_pictures_are_reported_by_line() {
    let (scratch, outside) = (TempFolder::new(), TempFolder::new());
    let config = write_shop(&scratch);
    let in_pictures = |name: &str| scratch.0.join("pictures").join(name);
    fs::write(outside.0.join("secret.png"), PNG).expect("a file");
    symlink(outside.0.join("secret.png"), in_pictures("link.png")).expect("a link");
    symlink(&outside.0, in_pictures("folder")).expect("a link");
    symlink("menu.png", in_pictures("inside.png")).expect("a link");
    fs::write(in_pictures("drawing.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").expect("a file");
    fs::write(in_pictures("large.png"), [PNG, &vec![0; 1024 * 1024]].concat()).expect("a file");
    let check = |picture: &str| {
        scratch.write("catalogue.toml", &format!("[[template]]\nid = 4\npicture = {picture}\n"));
        let output = run(&["check", "--config", &config]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(errors.is_empty(), output.status.success(), "{errors}");
        errors
    };
    let outside_path = format!("\"{}\"", outside.path("secret.png"));
    for (picture, expected) in [
        ("\"pictures/none.png\"", "cannot be read: No such file"),
        ("\"pictures\"", "is no file"),
        ("\"../pictures/menu.png\"", "must be a path below the folder of catalogue.toml"),
        ("\"pictures/../pictures/menu.png\"", "must be a path below the folder"),
        (outside_path.as_str(), "must be a path below the folder"),
        ("\"pictures/link.png\"", "leads out of the folder of catalogue.toml"),
        ("\"pictures/folder/secret.png\"", "leads out of the folder"),
        ("\"pictures/drawing.svg\"", "is no PNG, JPEG, WebP or AVIF file"),
        ("\"pictures/large.png\"", "has more than 1 MiB"),
        ("7", "picture must be the path of a picture file"),
    ] {
        let errors = check(picture);
        let expected = [expected, "catalogue.toml:3: template 4: picture "];
        assert!(expected.iter().all(|expected| errors.contains(expected)), "{expected:?} is missing: {errors}");
    }
    assert_eq!(check("\"pictures/inside.png\""), "", "a link that stays in the folder, as Kubernetes mounts files");
    assert_eq!(check("\"./pictures/menu.png\""), "");
    assert_eq!(check("\"\""), "");
    scratch.write("catalogue.toml", "[[template]]\nid = 4\npicture_alt = \"A drawing\"\n");
    let errors = String::from_utf8_lossy(&run(&["check", "--config", &config]).stderr).into_owned();
    assert!(
        errors.contains("catalogue.toml:1: template 4: picture_alt describes a picture: give picture as well"),
        "{errors}"
    );
}
