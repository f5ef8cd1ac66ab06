/**
 * What is known to go wrong with rewards in an existing system of this kind (D-nn: its list of defects), and why it does not here: the
 * titles of the tests that would catch it, as they are written in the test files of rewards and data, or the reason it cannot occur.
 */
export type Defect = { readonly tests: readonly string[] } | { readonly reason: string }

export const defects: Readonly<Record<string, Defect>> = {
  // Recipes that could not be switched on; samples a recipe leaves out got 0.
  'D-07': {
    tests: [
      'ask a source only for the samples that need it',
      'have one for every label, or nothing is asked',
      'sees NaN, not 0, for what a recipe did not ask for',
    ],
  },
  // The aggregator of remote rewards was called with other arguments than that of local ones, and its metrics were lost.
  'D-10': {
    tests: [
      'gets scores, labels, queries, references and the label map; and gives metrics per sample or for all',
      'a single URL is one server, not one per character; local, remote and custom go together by name',
    ],
  },
  // Reward engines that worked for samples with images only.
  'D-11': {
    tests: [
      'works with one model, and with none: rules only',
      'is decoded from the ids: with special tokens, and without',
    ],
  },
  // Rules graded the prompt's own example.
  'D-12': {
    tests: ['grades the response, not the example in the prompt', "does not see the prompt's own tags"],
  },
  // Answer tags of the prompt, and padding after the last tag.
  'D-25': { tests: ['%j: %j against %j is %d', "does not see the prompt's own tags"] },
  // Every item carried the metrics of its whole micro-batch.
  'D-27': {
    tests: [
      'give metrics of their own',
      'gets scores, labels, queries, references and the label map; and gives metrics per sample or for all',
    ],
  },
  // A reward model whose answer had another name than the one that was read.
  'D-55': { tests: ['over libtorch gives the scores transformers gives, whatever the batches'] },
  // The remote client: labels never sent, images run together, blind retries, a deadline of 50 minutes, payloads in the log, a URL
  // taken for a list of characters, the answer's length unchecked.
  'D-59': {
    tests: [
      'lightrft: queries, prompts, labels, references and images in, rewards out',
      'is wrong for good is asked once',
      'asks to be spared is asked again when it said, not before',
      'accepts and never answers ends within its deadline, and its connection is closed',
      "a sample's text is in no message",
      'a single URL is one server, not one per character; local, remote and custom go together by name',
      'answers too few',
      'gives NaN for a sample fails that sample alone, however it is written',
    ],
  },
  // Keys in the log and in the saved arguments.
  'D-64': {
    tests: [
      'reach the server and nothing else',
      'are not in what a refused URL or key says',
      'over TLS, with a key that is in no message',
    ],
  },
  'D-65': { reason: 'rewards print nothing; what happened is in outcomes, summaries and counts' },
  'D-68': {
    reason: 'no reward source loads a model: it is given one, and whoever owns it decides when it is on the device',
  },
  // One request after another, for each micro-batch and each URL.
  'D-69': {
    tests: [
      'go out in batches, so many at a time, and come back in order',
      'rewards samples as they arrive, those that came together in one call',
    ],
  },
  // The model's text went into a parser that evaluates.
  'D-72': {
    tests: ['is decided without evaluating anything', 'is decided quickly, whatever a model writes'],
  },
  // A documented argument that did not exist.
  'D-78': {
    tests: [
      "take LightRFT's queries, prompts and labels",
      'every code block of the docs and of doc comments compiles as strictly as the project',
    ],
  },
  // A dataset that failed to load was a line in a log.
  'D-86': { tests: ['with bad rows are refused whole, each with its line, its field, and what to do'] },
}
