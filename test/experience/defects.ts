/**
 * What is known to go wrong in an existing system of this kind (D-nn: its list of defects), and why it does not here: the titles of the
 * tests that would catch it, as they are written in the test files of this folder, or the reason it cannot occur.
 */
export type Defect = { readonly tests: readonly string[] } | { readonly reason: string }

export const defects: Readonly<Record<string, Defect>> = {
  // CPGD summed all rewards of a batch into one number: every advantage was 0.
  'D-01': { tests: ['cpgd gives every sample of a group its own advantage, by its own reward'] },
  // Dynamic sampling grouped by the training micro-batch, looked for all 0 or all 1, and left empty rows behind.
  'D-04': {
    tests: [
      'equal means equal, not 0 or 1: any equal rewards are degenerate, the smallest difference is not',
      'with k degenerate groups asks for exactly k more, and a full batch has exactly the groups asked for',
      'puts every group into exactly one place, in order of round and place, and nothing dropped comes back',
    ],
  },
  // Only the first micro-batch saw gamma.
  'D-13': { tests: ['without normalisation over the rollout, each group is as if it were alone, with the same gamma'] },
  // Running moments per micro-batch, infinite after one reward, not saved, moved by evaluation.
  'D-14': {
    tests: [
      'running moments are updated once with all shaped rewards, and an evaluation that drops them changes nothing',
      'a first rollout of %j has no scale: rewards are divided by 1',
      'running moments of several rollouts are those of all their rewards',
      'saved and restored, go on as if nothing had happened',
    ],
  },
  // Up to three whitenings on top of each other, and an alias with other numbers.
  'D-15': { tests: ['$name: token rewards, advantages and returns', 'grpo is group_norm in every step'] },
  // Equal rewards divided by a deviation that was only rounding.
  'D-16': { tests: ['%s: a group of equal rewards gets exactly 0'] },
  'D-17': {
    reason:
      'a rollout is one list of samples from the first step to the last: rewards are never cut into chunks and put together again',
  },
  // The clip fraction of GAE was measured after the clamp.
  'D-19': { tests: ['clip fractions are measured before the clamp, over samples and over tokens'] },
  // Whitening per micro-batch, not a number for one token.
  'D-20': {
    tests: [
      '%s: whitening leaves mean 0, deviation 1 and the returns',
      'whitening of one token, or of equal ones, gives 0',
    ],
  },
  // The command line offered an estimator that did not exist.
  'D-51': { tests: ['one list of estimators is read everywhere: each is accepted and computes'] },
  // gamma, lambd and maxNewTokens were no fields of the config.
  'D-61': { tests: ['the documented defaults'] },
  'D-66': {
    reason:
      'a distribution is computed from the samples of one rollout and keeps nothing; there is no plot to switch off',
  },
  'D-81': {
    reason:
      'each formula is one function with one epsilon, which the whole run, the command and a user who composes steps share',
  },
  // Truncated responses: decided otherwise here, nothing is bootstrapped after them.
  'D-85': { tests: ['a response cut at maxNewTokens ends like any other: nothing is expected after it'] },
  // Statistics assumed as many samples on every worker.
  'D-87': { tests: ['moments of the parts merge into those of the whole, in any order'] },
}
