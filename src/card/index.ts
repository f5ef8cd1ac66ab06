/** The model card of a run: README.md in the form of Hugging Face, and the curves beside it. */
export * from './model-card.js'
export { hubId, publicConfig, publicName } from './public-names.js'
