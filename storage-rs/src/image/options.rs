//! The options of a transformation: in a query, in the body of a request that signs, and in a signed URL.

use std::borrow::Cow;

use super::limits::ImageLimits;

/// How an image fits the width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// It fills both; what is too much is cut off.
    Cover,
    /// It fits in both.
    Contain,
    /// It is stretched.
    Fill,
}

/// The type of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// That of the source.
    Origin,
    Avif,
    /// WebP.
    Webp,
}

/// What stays when something is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gravity {
    /// The name of the option.
    pub name: &'static str,
    /// The place in the source that stays: 0 is the left or the upper edge, 1 the other one.
    pub place: (f64, f64),
    /// The offset to the place: pixels, or parts of a side below 1.
    pub offset: Option<(f64, f64)>,
}

/// What is done to an image.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Transformation {
    /// In pixels.
    pub width: Option<u32>,
    /// In pixels.
    pub height: Option<u32>,
    /// How both are used.
    pub resize: Option<Resize>,
    /// The type of the result; `None` lets the server decide by what the client accepts.
    pub format: Option<Format>,
    /// From 20 to 100.
    pub quality: Option<u8>,
    /// What stays.
    pub gravity: Option<Gravity>,
}

/// An option that is not valid: its name and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionProblem {
    /// The name of the option.
    pub option: &'static str,
    /// As the validator of Supabase Storage words it.
    pub message: &'static str,
}

impl Resize {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "cover" => Self::Cover,
            "contain" => Self::Contain,
            "fill" => Self::Fill,
            _ => return None,
        })
    }

    /// The name of the option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cover => "cover",
            Self::Contain => "contain",
            Self::Fill => "fill",
        }
    }

    /// The name that imgproxy has for it.
    fn imgproxy_name(self) -> &'static str {
        match self {
            Self::Cover => "fill",
            Self::Contain => "fit",
            Self::Fill => "force",
        }
    }
}

impl Format {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "origin" => Self::Origin,
            "avif" => Self::Avif,
            "webp" => Self::Webp,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Avif => "avif",
            Self::Webp => "webp",
        }
    }
}

/// The names of gravity and the place that stays. `fp` has its place in the offset; `sm` keeps the centre.
const GRAVITIES: [(&str, (f64, f64)); 11] = [
    ("no", (0.5, 0.0)),
    ("so", (0.5, 1.0)),
    ("ea", (1.0, 0.5)),
    ("we", (0.0, 0.5)),
    ("noea", (1.0, 0.0)),
    ("nowe", (0.0, 0.0)),
    ("soea", (1.0, 1.0)),
    ("sowe", (0.0, 1.0)),
    ("ce", (0.5, 0.5)),
    ("sm", (0.5, 0.5)),
    ("fp", (0.5, 0.5)),
];

impl Gravity {
    fn parse(name: &str, x: Option<f64>, y: Option<f64>) -> Option<Self> {
        let &(name, place) = GRAVITIES.iter().find(|(known, _)| *known == name)?;
        let offset = (x.is_some() || y.is_some()).then(|| (x.unwrap_or(0.0), y.unwrap_or(0.0)));
        match (name, offset) {
            ("sm", _) => Some(Self { name, place, offset: None }),
            ("fp", Some(focus)) => Some(Self { name, place: focus, offset: None }),
            _ => Some(Self { name, place, offset }),
        }
    }

    fn text(&self) -> String {
        match (self.name, self.offset) {
            ("fp", _) => format!("gravity:fp:{}:{}", self.place.0, self.place.1),
            (name, Some((x, y))) => format!("gravity:{name}:{x}:{y}"),
            (name, None) => format!("gravity:{name}"),
        }
    }
}

const NOT_ALLOWED: &str = "must be equal to one of the allowed values";

/// Reads a number as the validator does.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    text.parse().ok().filter(|value: &f64| value.is_finite() && !text.is_empty())
}

/// Reads a whole number within bounds.
fn whole(
    option: &'static str,
    text: Option<Cow<'_, str>>,
    least: (f64, &'static str),
    greatest: Option<(f64, &'static str)>,
) -> Result<Option<u32>, OptionProblem> {
    let Some(text) = text else { return Ok(None) };
    let problem = |message| OptionProblem { option, message };
    let value = number(&text).filter(|value| value.fract() == 0.0).ok_or(problem("must be integer"))?;
    if value < least.0 {
        return Err(problem(least.1));
    }
    if let Some((bound, message)) = greatest
        && value > bound
    {
        return Err(problem(message));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number between 0 and the greatest one"
    )]
    Ok(Some(value.min(f64::from(u32::MAX)) as u32))
}

impl Transformation {
    /// Reads options. `find` returns the text of an option; numbers may be text or numbers.
    ///
    /// # Errors
    /// The first option that is not valid.
    pub fn parse<'a>(find: impl Fn(&str) -> Option<Cow<'a, str>>) -> Result<Self, OptionProblem> {
        let height = whole("height", find("height"), (0.0, "must be >= 0"), None)?;
        let width = whole("width", find("width"), (0.0, "must be >= 0"), None)?;
        let problem = |option, message| OptionProblem { option, message };
        let resize = match find("resize") {
            None => None,
            Some(text) => Some(Resize::parse(&text).ok_or(problem("resize", NOT_ALLOWED))?),
        };
        let format = match find("format") {
            None => None,
            Some(text) => Some(Format::parse(&text).ok_or(problem("format", NOT_ALLOWED))?),
        };
        let quality = whole("quality", find("quality"), (20.0, "must be >= 20"), Some((100.0, "must be <= 100")))?;
        let offset = |option: &'static str| match find(option) {
            None => Ok(None),
            Some(text) => number(&text).map(Some).ok_or(problem(option, "must be number")),
        };
        let gravity = match find("gravity") {
            None => {
                offset("x_offset")?;
                offset("y_offset")?;
                None
            }
            Some(name) => {
                let is_known = GRAVITIES.iter().any(|(known, _)| *known == name);
                let (x, y) = if is_known { (offset("x_offset")?, offset("y_offset")?) } else { (None, None) };
                if name == "fp" {
                    for (option, value) in [("x_offset", x), ("y_offset", y)] {
                        match value {
                            None => return Err(problem(option, "is required")),
                            Some(value) if value < 0.0 => return Err(problem(option, "must be >= 0")),
                            Some(value) if value > 1.0 => return Err(problem(option, "must be <= 1")),
                            Some(_) => {}
                        }
                    }
                }
                Some(Gravity::parse(&name, x, y).ok_or(problem("gravity", NOT_ALLOWED))?)
            }
        };
        let quality = quality.and_then(|quality| u8::try_from(quality).ok());
        Ok(Self { width, height, resize, format, quality, gravity })
    }

    /// Reads the options of a signed URL. What is not valid is left out: the signer checked it.
    pub fn parse_signed(text: &str) -> Self {
        let find = |wanted: &str| {
            text.split(',')
                .filter_map(|part| part.split_once(':'))
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value)
        };
        let gravity = find("gravity").and_then(|value| {
            let mut parts = value.split(':');
            let name = parts.next()?;
            let mut offset = || parts.next().and_then(number);
            let (x, y) = (offset(), offset());
            Gravity::parse(name, x, y)
        });
        Self {
            width: find("width").and_then(|value| value.parse().ok()),
            height: find("height").and_then(|value| value.parse().ok()),
            resize: find("resize").and_then(Resize::parse),
            format: find("format").and_then(Format::parse),
            quality: find("quality").and_then(|value| value.parse().ok()),
            gravity,
        }
    }

    /// The width and the height of the result, as far as they are given. Zero means that it is not.
    pub(super) fn sides(&self, limits: ImageLimits) -> (Option<u32>, Option<u32>) {
        let clamp = |side: u32| side.clamp(limits.minimum_side.min(limits.maximum_side), limits.maximum_side);
        let given = |side: Option<u32>| side.filter(|side| *side > 0).map(clamp);
        (given(self.width), given(self.height))
    }

    /// The options as a signed URL has them.
    pub fn to_signed_text(&self, limits: ImageLimits) -> String {
        self.text(limits, |resize| format!("resize:{}", resize.map_or("undefined", Resize::name)))
    }

    /// The options as the response header `X-Transformations` has them.
    pub fn to_header_text(&self, limits: ImageLimits) -> String {
        self.text(limits, |resize| format!("resizing_type:{}", resize.unwrap_or(Resize::Cover).imgproxy_name()))
    }

    fn text(&self, limits: ImageLimits, resize: impl Fn(Option<Resize>) -> String) -> String {
        let mut parts = Vec::new();
        let (width, height) = self.sides(limits);
        parts.extend(height.map(|height| format!("height:{height}")));
        parts.extend(width.map(|width| format!("width:{width}")));
        if width.is_some() || height.is_some() {
            parts.push(resize(self.resize));
        }
        parts.extend(self.quality.map(|quality| format!("quality:{quality}")));
        let format = self.format.filter(|format| *format != Format::Origin);
        parts.extend(format.map(|format| format!("format:{}", format.name())));
        parts.extend(self.gravity.as_ref().map(Gravity::text));
        parts.join(",")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(query: &str) -> Result<Transformation, OptionProblem> {
        Transformation::parse(|wanted| {
            let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == wanted)?;
            Some(Cow::Owned(pair.1.to_owned()))
        })
    }

    #[test]
    fn options_are_validated_as_the_reference_words_it() {
        for (query, option, message) in [
            ("width=abc", "width", "must be integer"),
            ("width=1.5", "width", "must be integer"),
            ("height=-1", "height", "must be >= 0"),
            ("resize=stretch", "resize", NOT_ALLOWED),
            ("format=png", "format", NOT_ALLOWED),
            ("quality=19", "quality", "must be >= 20"),
            ("quality=101", "quality", "must be <= 100"),
            ("gravity=up", "gravity", NOT_ALLOWED),
            ("gravity=fp&x_offset=2&y_offset=0", "x_offset", "must be <= 1"),
            ("x_offset=a", "x_offset", "must be number"),
        ] {
            assert_eq!(parse(query), Err(OptionProblem { option, message }), "{query}");
        }
        let all = parse("width=300&height=0&resize=contain&quality=50&format=webp&gravity=noea&x_offset=0.1").unwrap();
        let limits = ImageLimits::default();
        assert_eq!(all.to_header_text(limits), "width:300,resizing_type:fit,quality:50,format:webp,gravity:noea:0.1:0");
        let signed = all.to_signed_text(limits);
        assert_eq!(signed, "width:300,resize:contain,quality:50,format:webp,gravity:noea:0.1:0");
        assert_eq!(Transformation::parse_signed(&signed).to_signed_text(limits), signed);
        assert_eq!(parse("width=9000").unwrap().to_header_text(limits), "width:2000,resizing_type:fill");
    }

    proptest! {
        #[test]
        fn options_never_panic(query in "[a-z_=&0-9.:,-]{0,80}") {
            let _ = parse(&query);
            let _ = Transformation::parse_signed(&query).to_signed_text(ImageLimits::default());
        }
    }
}
