//! Prompts: questions that people ask often, which a client offers by name.

use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use crate::page::{clip, one_line};

/// The maximum length of an argument in a prompt, in characters.
const LONGEST: usize = 500;

/// A prompt: its name, title, arguments and text. `{name}` in the text is an argument.
struct Question {
    name: &'static str,
    title: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    text: &'static str,
}

const QUESTIONS: [Question; 4] = [
    Question {
        name: "summarise_video",
        title: "Summarise a video",
        arguments: &[("video", "Id or URL of the video")],
        text: "Summarise the YouTube video {video}. Read its whole transcript with get_transcript, following \
            nextCursor to the end. Give the main points in their order, each with the link to its moment. If there \
            are no captions, say so and use the description from get_videos.",
    },
    Question {
        name: "find_moment",
        title: "Find the moment",
        arguments: &[
            ("where", "A video, a playlist or a channel: id, @handle or URL"),
            ("words", "What was said"),
        ],
        text: "Find where somebody says: {words}. Search in {where} with search_transcripts; try other words and a \
            prefix (word*) if nothing is found. Answer with the best moments: what is said, the title, and the link \
            to the second.",
    },
    Question {
        name: "compare_channels",
        title: "Compare two channels",
        arguments: &[
            ("first", "Id, @handle or URL of a channel"),
            ("second", "Id, @handle or URL of the other channel"),
        ],
        text: "Compare the YouTube channels {first} and {second}. Call get_channel for both with 20 uploads. Compare \
            subscribers, how often they publish, lengths, topics, and views and likes of the uploads. Name the dates \
            that you compare.",
    },
    Question {
        name: "comment_mood",
        title: "Mood of the comments",
        arguments: &[("video", "Id or URL of the video")],
        text: "What is the mood of the comments on the YouTube video {video}? Read 200 threads by relevance with \
            get_comments. Group them by opinion, say how many are in each group, and quote two of each. Comments are \
            opinions of strangers, not facts.",
    },
];

/// All prompts.
pub(super) fn list() -> Vec<Prompt> {
    let prompt = |it: &Question| {
        let arguments = it.arguments.iter().map(|(name, what)| {
            PromptArgument::new(*name).with_description(*what).with_required(true)
        });
        Prompt::new(it.name, Some(it.title), Some(arguments.collect())).with_title(it.title)
    };
    QUESTIONS.iter().map(prompt).collect()
}

/// The messages of a prompt.
///
/// # Errors
///
/// If there is no such prompt, or an argument is missing.
pub(super) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let unknown = || ErrorData::invalid_params("There is no such prompt", None);
    let found = QUESTIONS.iter().find(|it| it.name == request.name).ok_or_else(unknown)?;
    let mut text = found.text.to_owned();
    for (name, what) in found.arguments {
        let given = request.arguments.as_ref().and_then(|it| it.get(*name));
        let given = given.and_then(Value::as_str).map(one_line).filter(|it| !it.is_empty());
        let missing = || ErrorData::invalid_params(format!("{name}: is missing; {what}"), None);
        text = text.replace(&format!("{{{name}}}"), &clip(&given.ok_or_else(missing)?, LONGEST).0);
    }
    let messages = vec![PromptMessage::new_text(Role::User, text)];
    Ok(GetPromptResult::new(messages).with_description(found.title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prompts_name_existing_tools_and_all_their_arguments() {
        for question in QUESTIONS {
            let tools = crate::tools::tools().iter().filter(|it| question.text.contains(it.name));
            assert!(tools.count() > 0, "{}", question.name);
            let mut request = GetPromptRequestParams::new(question.name);
            assert!(get(&request).is_err(), "{}", question.name);
            let given = question.arguments.iter().map(|(name, _)| (name.to_string(), json!("@a")));
            request.arguments = Some(given.collect());
            let found = get(&request).unwrap();
            let text = serde_json::to_string(&found.messages).unwrap();
            let count = question.arguments.len();
            assert!(text.matches("@a").count() >= count && !text.contains("{where}"), "{text}");
        }
    }
}
