"""What a question asks for, before anything is searched: by rule, or by a model where the pipeline has it so."""
