/**
 * How every code block of the docs is checked. Blocks are listed by their first line, in the order of the page; one that is not here, or no longer
 * there, fails a test.
 */
import type { Smaller } from './session.js'

export type Check =
  /** Commands, typed one after another in the page's directory; lines of `except` are left out. Or code, run as one module per page. */
  | { readonly kind: 'run'; readonly except?: Readonly<Record<string, string>> }
  /** Compiled with all other examples (examples.slow.test.ts), and no more: it needs something the reader has. */
  | { readonly kind: 'compile' }
  /** A config: read by the schema of that name, and written into the page's directory under the name in its first line. */
  | { readonly kind: 'config'; readonly of: string }
  /** Checked by another test, which reads the page. */
  | { readonly kind: 'elsewhere'; readonly test: string }
  /** Output, or a command that cannot run in a test. */
  | { readonly kind: 'shown'; readonly why: string }

export interface PageChecks {
  /** Files and directories a reader has before the page begins; see fixtures.ts. */
  readonly given?: readonly string[]
  /** Numbers that differ from the page's, by verb. */
  readonly smaller?: Smaller
  readonly blocks: readonly (readonly [firstLine: string, check: Check])[]
}

const run: Check = { kind: 'run' }
const compile: Check = { kind: 'compile' }
const except = (lines: Readonly<Record<string, string>>): Check => ({ kind: 'run', except: lines })
const config = (of: string): Check => ({ kind: 'config', of })
const elsewhere = (test: string): Check => ({ kind: 'elsewhere', test })
const shown = (why: string): Check => ({ kind: 'shown', why })
const output = shown('output')
const installs = shown('installs')
const shared = shown('needs models of the reader; test/gguf has its tests')
const others = shown('needs a program that is not part of the project')
const engines = shown('needs an engine that is installed; npm run test:vllm and test:sglang have its tests')
const hub = shown('needs the Hub; test/hub and test/api/hub.test.ts have a server in its place')
const serves = shown('serves until it is stopped; test/serve has its tests')

const rows = ['maxSteps=1', 'epochs=1', 'batchSize=2', 'device=cpu']
const rollouts = ['rolloutBatchSize=2', 'nSamplesPerPrompt=2', 'maxNewTokens=4', 'device=cpu']
const rl = [...rollouts, 'iterations=1', 'evaluation.maxPrompts=2']
const smaller: Smaller = {
  sft: rows,
  dpo: rows,
  reward: rows,
  rl,
  grpo: rl,
  rloo: rl,
  pipeline: [
    ...['sftEpochs=1', 'rewardEpochs=1', 'ppoIterations=1', 'ppoBatchSize=2', 'ppoMiniBatchSize=2', 'ppoEpochs=1'],
    ...['device=cpu', 'ppo.maxNewTokens=4', 'sft.maxSteps=1', 'reward.maxSteps=1', 'maxLength=64'],
  ],
}

export const checks: Readonly<Record<string, PageChecks>> = {
  'README.md': {
    given: ['docs'],
    smaller,
    blocks: [
      ["import { grpo } from 'whetstone'", elsewhere('test/api/readme.test.ts')],
      ['npm ci && npm run demo', installs],
      [
        '$ npx whetstone tokenizer train --input docs/*.md',
        except({ 'npx whetstone serve': 'serves until it is stopped' }),
      ],
      ['$ cat reward.ts', run],
      ['$ for i in $(seq 100)', run],
      ["import { LocalModel } from 'whetstone/model'", run],
    ],
  },
  'docs/advantages.md': {
    blocks: [
      ['import { deriveAdvantages', elsewhere('test/experience/docs.test.ts')],
      ['$ cat samples.jsonl', run],
    ],
  },
  'docs/api.md': {
    blocks: [
      ["import { grpo, LocalModel, Tokenizer } from 'whetstone'", elsewhere('test/api/docs.slow.test.ts')],
      ["const words = ['please', 'thanks']", elsewhere('test/api/docs.slow.test.ts')],
      ["const model = await LocalModel.load('model'", elsewhere('test/api/docs.slow.test.ts')],
      ['for await (const event of run) {', elsewhere('test/api/docs.slow.test.ts')],
      ["import { dpo, ppo, rewardModel, rl, sft } from 'whetstone'", elsewhere('test/api/docs.slow.test.ts')],
      [
        "import { evaluate, experience, generate, pipeline, replay, score, serve } from 'whetstone'",
        elsewhere('test/api/docs.slow.test.ts'),
      ],
    ],
  },
  'docs/architecture.md': { blocks: [['graph TD', elsewhere('test/docs/architecture.test.ts')]] },
  'docs/data.md': {
    given: ['train.jsonl', 'models/qwen2'],
    blocks: [
      ['$ whetstone data inspect train.jsonl', run],
      ['data:', config('sft')],
      ['{"messages":', elsewhere('test/data/docs.test.ts')],
      ['{"prompt": "What is 2 + 2?", "chosen"', elsewhere('test/data/docs.test.ts')],
      ['{"prompt": "What is 2 + 2?", "completion"', elsewhere('test/data/docs.test.ts')],
      ['{"prompt": "What is 2 + 2?", "target"', elsewhere('test/data/docs.test.ts')],
      ['train.jsonl: 2 bad rows', output],
      ['import { dataOptionsSchema, openDataset }', compile],
    ],
  },
  'docs/demo.md': {
    blocks: [
      [
        'npm run demo',
        except({
          'npm run demo': 'takes minutes; test/demo runs it with smaller numbers',
          'npx whetstone demo --seeds 5': 'takes minutes; test/demo runs it with smaller numbers',
        }),
      ],
      ['$ npm run demo', output],
      ['                          accuracy', output],
    ],
  },
  'docs/errors.md': { blocks: [["import { sft, WhetstoneError } from 'whetstone'", run]] },
  'docs/evaluate.md': {
    given: ['runs/rl/final_model', 'runs/sft/best_model', 'test.jsonl', 'reward.ts'],
    blocks: [
      ['whetstone eval --model', run],
      ['long/final_model and short/final_model', output],
      ['import { evaluateModel, evaluationTable }', compile],
      ['import { corpusBleu, rougeL }', run],
    ],
  },
  'docs/experience.md': {
    given: ['model', 'prompts.jsonl', 'reward.ts'],
    blocks: [
      ['import { FastExperienceMaker }', elsewhere('test/experience/guide.test.ts')],
      ['const graded =', elsewhere('test/experience/guide.test.ts')],
      ['import { format, numericAnswer }', elsewhere('test/experience/guide.test.ts')],
      ['const quality =', elsewhere('test/experience/guide.test.ts')],
      ['const collected =', elsewhere('test/experience/guide.test.ts')],
      ['const saved =', elsewhere('test/experience/guide.test.ts')],
      ['# experience.yaml', config('experience')],
      ['npx whetstone experience', run],
    ],
  },
  'docs/extend.md': {
    given: ['model', 'prompts.jsonl', 'my-reward.ts'],
    blocks: [
      ['// my-loss.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ['// my-estimator.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ['// my-reward.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ['// my-generator.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ['// my-preset.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ['# rl.yaml', elsewhere('test/cli/extend.slow.test.ts')],
      ['$ npx whetstone explain my-loss.ts', elsewhere('test/cli/extend.slow.test.ts')],
      ["import { rl } from 'whetstone'", compile],
    ],
  },
  'docs/generate.md': {
    given: ['model', 'models/qwen2', 'prompts.jsonl'],
    blocks: [
      ["import { LocalModel } from 'whetstone/model'", run],
      ['import type { GenerationRequest, Generator }', compile],
      ['whetstone generate --model', run],
    ],
  },
  'docs/hub.md': {
    blocks: [
      ['# grpo.yaml', config('rl')],
      ['npx whetstone download', hub],
      ["import { download, LocalModel } from 'whetstone'", compile],
      ['hf download', hub],
      ['npx whetstone push', hub],
    ],
  },
  'docs/images.md': {
    given: ['models/qwen2.5-vl', 'pictures', 'sign.png'],
    blocks: [
      ["import { readdirSync } from 'node:fs'", run],
      ['{"prompt": "Read the sign."', elsewhere('test/api/media-input.test.ts')],
      ["import { generate } from 'whetstone'", run],
      ["import { connectVllm } from 'whetstone/rollout'", compile],
    ],
  },
  'docs/install.md': { blocks: [['npm ci && npx whetstone doctor', installs]] },
  'docs/losses.md': { blocks: [['import { mergePolicyStatistics', elsewhere('test/train/docs.test.ts')]] },
  'docs/migrating.md': {
    blocks: [
      ['grpo.yaml: there is no option', output],
      ['# grpo.yaml', config('rl')],
    ],
  },
  'docs/models.md': {
    given: ['models/tokenizer', 'models/qwen', 'rows.jsonl'],
    blocks: [
      ["import { LocalModel } from 'whetstone/model'", run],
      ['import { promptSequence', run],
      ['const batch = await tokenizer.encodeBatch', run],
      ['const report = await actor.export', run],
      ['const actor = await LocalModel.load', run],
      ['whetstone init --family', run],
      ['whetstone score --model', run],
    ],
  },
  'docs/precision.md': {
    blocks: [
      [
        'whetstone export runs/rl --out models/rl-float32 --dtype float32',
        elsewhere('test/train/supervised/export-run.test.ts'),
      ],
    ],
  },
  'docs/out-of-memory.md': {
    given: ['model', 'prompts.jsonl', 'reward.ts', 'rl.yaml'],
    smaller,
    blocks: [['whetstone rl --config rl.yaml --dry-run', run]],
  },
  'docs/package.md': {
    given: ['models/qwen2'],
    blocks: [
      ['npm install whetstone', installs],
      ['// train.ts', compile],
    ],
  },
  'docs/pipeline.md': {
    given: ['model', 'conversations.jsonl', 'preferences.jsonl', 'prompts.jsonl'],
    smaller,
    blocks: [
      ['# pipeline.yaml', config('pipeline')],
      ['whetstone pipeline --config pipeline.yaml --dry-run', run],
      ['import { createRlhfPipeline, getDefaultConfig }', compile],
      ["import { LocalModel } from 'whetstone/model'", compile],
    ],
  },
  'docs/preferences.md': {
    given: ['runs/sft/best_model', 'preferences.jsonl'],
    smaller,
    blocks: [
      ['# dpo.yaml', config('dpo')],
      ['whetstone dpo --config', run],
    ],
  },
  'docs/quick-start.md': {
    smaller,
    blocks: [
      ['npm ci && npx whetstone doctor', installs],
      ['$ for i in $(seq 0 9)', run],
      ['$ npx whetstone sft --model model', run],
      ['$ cat reward.ts', run],
      ['$ npx whetstone new grpo', run],
      ['$ npx whetstone eval', run],
      ['npx whetstone serve', serves],
      ['# rl.yaml', config('rl')],
    ],
  },
  'docs/reading-metrics.md': { given: ['runs/a', 'runs/rl'], blocks: [['whetstone runs', run]] },
  'docs/reward-model.md': {
    given: ['runs/sft/best_model', 'preferences.jsonl'],
    smaller,
    blocks: [
      ['# reward.yaml', config('reward')],
      ['whetstone reward train', run],
      ['sources:', config('rewards')],
    ],
  },
  'docs/rewards.md': {
    given: ['samples.jsonl', 'rewards.yaml', 'model', 'prompts.jsonl', 'reward.ts'],
    smaller,
    blocks: [
      ['import { defineReward', elsewhere('test/reward/docs.test.ts')],
      ['# grpo.yaml', config('rl')],
      ['import { batchReward', run],
      ["import { LocalModel } from 'whetstone/model'", compile],
      ['import { remoteReward }', compile],
      ['import { numericAnswer', run],
      ['import { RewardComputationEngine }', compile],
      ['import { type RewardInput', run],
      ['import { readPrompts }', compile],
      ['gsm8k.jsonl: 2 bad rows', output],
      ['$ whetstone reward test', run],
      ['sources:', elsewhere('test/reward/docs.test.ts')],
    ],
  },
  'docs/rl.md': {
    given: ['model', 'prompts.jsonl', 'reward.ts'],
    smaller,
    blocks: [
      ['# grpo.yaml', config('rl')],
      ['whetstone rl --config grpo.yaml --dry-run', run],
      ["import { rl } from 'whetstone'", compile],
    ],
  },
  'docs/dashboard.md': {
    blocks: [
      ['$ npx whetstone dashboard runs', shown('serves until it is stopped; test/dashboard has its tests')],
      [
        '$ npx whetstone samples runs/grpo --step 12 --sort reward',
        shown('needs a run of the reader; test/dashboard has its tests'),
      ],
    ],
  },
  'docs/episodes.md': {
    blocks: [
      ["import { defineTool, grpo, toolEnvironment } from 'whetstone'", compile],
      ['# grpo-calculator.yaml', config('rl')],
      ['{', shown('a row; test/data/tool-conversations.test.ts reads such')],
      ['whetstone episode --config', shown('test/environment/verbs.test.ts runs such commands')],
      ["import { defineEnvironment } from 'whetstone'", compile],
      ['# grpo-agent.yaml', config('rl')],
      ["import { agentEnvironment } from 'whetstone'", compile],
      ['# grpo-mcp.yaml', config('rl')],
      ['# grpo-openenv.yaml', config('rl')],
    ],
  },
  'docs/distributed.md': {
    blocks: [
      ['npx whetstone grpo --config run.yaml --devices all', shown('needs GPUs; test/distributed runs ranks')],
      ['torchrun --no-python', shown('`npm run test:launchers` runs a torchrun')],
      ['#SBATCH', shown('needs Slurm; test/distributed/launchers.test.ts reads such variables')],
      [
        'apiVersion: kubeflow.org/v1',
        shown('needs Kubernetes; test/distributed/launchers.test.ts reads such variables'),
      ],
    ],
  },
  'docs/runs.md': {
    given: ['runs/a', 'runs/b'],
    blocks: [
      ['config.json ', output],
      [
        '$ npx whetstone runs',
        except({ 'tensorboard --logdir runs': 'a program of another project; test/run reads the files' }),
      ],
      ['runs/a: options or inputs of the run have changed:', output],
      ["import { Run } from 'whetstone/run'", compile],
    ],
  },
  'docs/share.md': {
    blocks: [
      ['npx whetstone export runs/grpo --to gguf --type q8_0 --out mine/mine.gguf', shared],
      ['cd mine', others],
      ['llama-cli -m mine/mine.gguf -p "What is 2 + 2?"', others],
      ["import { getLlama, LlamaChatSession } from 'node-llama-cpp'", others],
      ['pip install "optimum[onnxruntime]"', installs],
      ['vllm serve mine-hf', others],
      ['npx whetstone import model.Q4_K_M.gguf --out models/imported', shared],
    ],
  },
  'docs/serve.md': {
    given: ['model', 'prompts.jsonl', 'reward.mjs'],
    blocks: [
      ['whetstone serve --model DIR', serves],
      ['{', shown('a body; test/serve/images.test.ts sends such')],
      ['WHETSTONE_API_KEY=... whetstone serve', serves],
      ['# grpo-served.yaml', config('rl')],
    ],
  },
  'docs/sglang.md': {
    given: ['model', 'prompts.jsonl', 'reward.mjs'],
    blocks: [
      ['python3 -m venv ~/sglang', installs],
      ['export WHETSTONE_SGLANG_PYTHON=$(bash tools/engines/install.sh sglang)/bin/python', installs],
      ['# grpo-sglang.yaml', config('rl')],
      ['npx whetstone rl --config grpo-sglang.yaml', engines],
      ['npx whetstone engine start --type sglang', engines],
    ],
  },
  'docs/sft.md': {
    given: ['model', 'conversations.jsonl'],
    smaller,
    blocks: [
      ['# sft.yaml', config('sft')],
      ['whetstone sft --config sft.yaml --dry-run', run],
      ['{', shown('a row; test/data/tool-conversations.test.ts reads such')],
      ["import { sft } from 'whetstone'", compile],
    ],
  },
  'docs/tensors.md': {
    blocks: [
      ['import { AdamW, record, scope, Tensor }', run],
      ["const step = record(['tensor', 'number']", compile],
    ],
  },
  'docs/text.md': {
    given: ['corpus.txt', 'rows.jsonl', 'models/qwen2'],
    blocks: [
      ["import { Tokenizer } from 'whetstone/text'", run],
      ['const { ids, assistantMask }', run],
      ['whetstone tokenizer train', run],
    ],
  },
  'docs/trackers.md': {
    given: ['models/qwen2'],
    blocks: [
      ['# sft.yaml', elsewhere('test/train/loggers.test.ts')],
      ['pip install mlflow', shown('needs a server; npm run test:mlflow has its tests')],
      ['// my-logger.ts', elsewhere('test/train/loggers.test.ts')],
      ["import { sft } from 'whetstone'", compile],
      ['$ whetstone runs sync runs/sft', elsewhere('test/run/commands.test.ts')],
    ],
  },
  'docs/training.md': {
    given: ['model', 'models/tiny', 'conversations.jsonl', 'sft.yaml', 'grpo.yaml', 'prompts.jsonl', 'reward.ts'],
    smaller,
    blocks: [
      ['whetstone sft --config sft.yaml --dry-run', run],
      ['whetstone sft --model models/tiny', run],
      ['// grpo.ts', compile],
      ['grpo.yaml: there is no option "num_generations"', output],
      ['# yaml-language-server', config('sft')],
      ['$ whetstone rl --config grpo.yaml', run],
      ['$ whetstone replay runs/grpo', shown('replays 200 iterations; test/train/rl replays small ones')],
    ],
  },
  'docs/vllm.md': {
    given: ['model', 'prompts.jsonl', 'reward.mjs'],
    blocks: [
      ['python3 -m venv ~/vllm', installs],
      ['export WHETSTONE_VLLM=$(bash tools/engines/install.sh vllm)/bin/vllm', installs],
      ['npx whetstone engine start --type vllm --model my-model --device cpu', engines],
      ['# grpo-vllm.yaml', config('rl')],
      ['npx whetstone rl --config grpo-vllm.yaml', engines],
      ['npx whetstone engine start --type vllm', engines],
      ['# grpo-servers.yaml', config('rl')],
      ['export VLLM_SERVER_DEV_MODE=1 VLLM_ALLOW_RUNTIME_LORA_UPDATING=1', engines],
      ['# grpo-videos.yaml', config('rl')],
      ["import { connectVllm } from 'whetstone/rollout'", compile],
    ],
  },
}
