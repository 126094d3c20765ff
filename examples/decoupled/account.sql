create database if not exists slurm_acct_db;
create user if not exists 'slurm'@'localhost';
alter user 'slurm'@'localhost' identified by '{{ with nomadVar "nomad/jobs/slurm-services" }}{{ .password }}{{ end }}';
grant all on slurm_acct_db.* to 'slurm'@'localhost';
