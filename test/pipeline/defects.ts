/**
 * What is known to go wrong in the Python pipeline that this one continues (B: it stops, W: it is wrong, P: its document promises
 * otherwise, E: smaller edges), and why it does not here: titles of the tests that would catch it, or the reason it cannot occur.
 */
export type Defect = { readonly tests: readonly string[] } | { readonly reason: string }

const tree = 'all stages leave the documented tree, and no stage changes what another one made'
const samples = 'samples are answers to the same prompts before and after, scored once there is a reward model'
const frozen = 'under freezeRewardBackbone only the head differs, and the policy is trained all the same'
const alone = 'a stage alone says what it needs and how to get it'
const logged =
  'a run of PPO logs reward, length and KL to the reference, rolls out a batch of prompts, and logs the rate it used'
const evaluated = 'evaluateModel measures a fresh copy, with numbers that are not constants'
const lines = 'preferences without a prompt, blank and broken lines are named with their lines, or left out and counted'
const rates = 'learning rates, epochs and batch sizes are those of the trainings'
const killed = 'killed in each stage and resumed: the same final weights'

export const defects: Readonly<Record<string, Defect>> = {
  // The tokenizer was unpickled, and was a dictionary.
  B1: { tests: ['a pickle is never read', "a tokenizer that is not the base model's is refused"] },
  // A missing base model was random weights, without a word.
  B2: {
    tests: [
      'a missing base model is an error, and never random weights',
      'a random start is asked for by its shape, and by nothing else',
      'models of another vocabulary are refused before work starts',
    ],
  },
  // Heads were fed logits.
  B3: { tests: [tree, 'a frozen backbone leaves the head alone to be trained'] },
  // The copy for the reference failed.
  B4: { tests: [logged, 'the same seed gives the same weights to the bit, another seed others'] },
  // Rollouts called what tokenizer and model did not have.
  B5: { tests: [samples, 'texts, conversations and ids; special tokens are never added twice'] },
  // Mini-batches were empty functions.
  B6: { tests: ['every pass sees every sample once, in an order of its own', frozen] },

  // Labels stood at the place of their own token.
  W1: { tests: ['of plain text are trained whole but for the first token, which nothing predicts', 'SFT memorises'] },
  // Rows of the default file were taken for their own text.
  W2: {
    tests: [
      'rows of {"conversations": [...]} are conversations, in roles and in ShareGPT words, with the answer trained',
      'data of a later stage is read before an earlier one begins',
    ],
  },
  // The learning rate of SFT was never read.
  W3: { tests: [rates, logged] },
  // The warm-up multiplied what it had multiplied before.
  W4: { tests: ['a warm-up is a line from the base rate, whatever the step before had'] },
  // One network was policy, critic, reward model and reference.
  W5: { tests: [tree, frozen] },
  // Freezing the reward model froze the policy.
  W6: { tests: [frozen] },
  // Loading a reward model overwrote the policy.
  W7: { tests: [tree] },
  // No KL to the reference.
  W8: { tests: [logged, rates] },
  // Rewards came with the noise of dropout.
  W9: { tests: ['dropout works while training and never while scoring'] },
  // Rewards were of text that was encoded again.
  W10: { tests: ['gets the exact ids where its tokenizer.json is the same, and its own rendering where it is not'] },
  // Prompts ended in an end of sequence; ids of special tokens differed.
  W11: { tests: ['texts, conversations and ids; special tokens are never added twice'] },
  // Advantages by mini-batch, values unclipped, an early stop that did not.
  W12: {
    tests: [
      'an update that would move too far is not made',
      '%s: whitening leaves mean 0, deviation 1 and the returns',
      rates,
    ],
  },
  // Every prompt in every iteration, one after another.
  W13: { tests: [logged] },
  // No prompts, and a thousand empty iterations.
  W14: { tests: ['an empty set of prompts is refused'] },
  // Truncation took the answers.
  W15: {
    tests: [
      'that are too long are dropped, or lose the beginning of their prompt',
      'with two answers that are the same are left out, and are no mistake',
      'that are too long are cut at their end or dropped, counted and told',
    ],
  },
  // No weights were saved, and their path returned.
  W16: { tests: [tree, logged] },
  // Checkpoints that evaluation and sampling could not read.
  W17: { tests: [samples, evaluated] },
  // Evaluation loaded its weights into the model that was being trained.
  W18: { tests: [evaluated, samples] },
  // Stages alone failed on what was not in memory.
  W19: { tests: [alone, logged] },
  W20: {
    reason:
      'there is no augmentation that swaps labels: rows are trained on as they are, and cdpo knows labels that may be wrong',
  },

  P1: { tests: [lines] },
  P2: { tests: ['are the lines of a text file; they stay texts where no template is wanted'] },
  P3: { tests: ['a section has the last word, and its own device; an option under both names is an error'] },
  P4: { tests: ['loadBaseModel: a directory, or an object that is written and disposed'] },
  P5: { tests: [tree] },
  P6: { tests: ['createPreferenceLoss: another loss trains another model, and the same one the same', rates] },
  P7: { tests: [logged] },
  P8: { tests: [evaluated] },
  P9: { tests: ['algorithm %s in place of what it replaces'] },

  // No seed, resume, gradient norm or guard against what is not finite.
  E1: { tests: [killed, 'a number that is not finite stops before the weights change, and names the row'] },
  // Pickles.
  E2: { tests: ['a pickle is never read'] },
  // A weight of 0 broke the plot.
  E3: { tests: ['%s: the gradient is the slope of the value', tree] },
  // Rows were padded to the full length, and the padding was a label.
  E4: { tests: ['packed and padded rows train the same weights'] },
  // Generation for one prompt, without a cache or a look at the context.
  E5: { tests: [samples, 'options of a later stage are checked before an earlier one begins'] },
  // Accuracy of the rows that were trained on.
  E6: { tests: [logged, 'a reward model ranks held-out pairs'] },
  // No signals, files written in place.
  E7: { tests: [killed, 'a stopped stage is an error without resume, and goes on with it'] },
}
