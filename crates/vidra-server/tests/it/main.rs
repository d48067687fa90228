//! Integration tests of the service, in one binary so that it links once.

mod allocations;
mod answers;
mod app;
mod cache;
mod collections;
mod connections;
mod costs;
mod deadlines;
mod documents;
mod drain;
mod errors;
mod gate;
mod hostile;
mod interrupted;
mod jobs;
mod large_answers;
mod ledger;
mod library_search;
mod lists;
mod llms;
mod mcp;
mod metrics;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
mod more_lists;
mod negotiation;
mod openapi;
mod pages;
mod preface;
mod redirects;
mod rooms;
mod security;
mod streams;
mod transcripts;
mod webhooks;
