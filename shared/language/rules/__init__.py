"""The rules that do a step of a stage without a model, one folder for each subject. Pure."""
